#include "transport/loopback/loopback.hpp"

#include "base/error.hpp"

#include <cstring>
#include <map>

namespace smddp::transport::loopback {
namespace {

struct Window {
  std::byte* data;
  size_t bytes;
};

struct Done {
  void* context;
  int turns;
};

class LoopbackWire final : public Wire {
 public:
  LoopbackWire(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {
    const Faults& faults = hub_->faults();
    limits_ = {faults.packet_bytes, faults.put_bytes, faults.duplicate > 0, 0};
  }

  const WireLimits& limits() const override { return limits_; }
  std::string address() const override { return std::string(reinterpret_cast<const char*>(&rank_), sizeof(rank_)); }

  void connect(const std::vector<std::string>& addresses, int) override {
    for (size_t i = 0; i < addresses.size(); ++i) {
      int place = -1;
      if (addresses[i].empty()) {
        places_.push_back(-1);
        continue;
      }
      if (addresses[i].size() == sizeof(place)) std::memcpy(&place, addresses[i].data(), sizeof(place));
      if (place < 0 || place >= hub_->size()) throw Error(SMDDP_ERR_TRANSPORT, format("the address of rank %zu is not of this hub", i));
      places_.push_back(place);
    }
  }

  bool packet(int peer, const void* header, size_t header_bytes, const void* payload, size_t payload_bytes, bool) override {
    require_open();
    Item item;
    item.bytes.resize(header_bytes + payload_bytes);
    std::memcpy(item.bytes.data(), header, header_bytes);
    if (payload_bytes) std::memcpy(item.bytes.data() + header_bytes, payload, payload_bytes);
    return hub_->post(rank_, place(peer), std::move(item));
  }

  bool expose(void* data, size_t bytes, Exposure& exposure) override {
    require_open();
    if (hub_->draw(rank_, hub_->faults().again)) return false;
    exposure.key = ++last_key_;
    windows_[exposure.key] = {static_cast<std::byte*>(data), bytes};
    return true;
  }

  bool conceal(Exposure& exposure, bool) override {
    require_open();
    if (hub_->draw(rank_, hub_->faults().late_conceal)) return false;
    windows_.erase(exposure.key);
    return true;
  }

  bool put(int peer, const void* data, size_t bytes, uint64_t, uint64_t key, size_t offset, uint32_t immediate, void* context) override {
    require_open();
    Item item;
    item.put = true;
    item.key = key;
    item.offset = offset;
    item.immediate = immediate;
    item.bytes.assign(static_cast<const std::byte*>(data), static_cast<const std::byte*>(data) + bytes);
    if (!hub_->faults().break_puts && !hub_->post(rank_, place(peer), std::move(item))) return false;
    done_.push_back({context, hub_->some_turns(rank_)});
    return true;
  }

  void abandon(int) override { require_open(); }

  bool progress(WireSink& sink) override {
    require_open();
    items_.clear();
    hub_->take(rank_, items_);
    if (hub_->dead(rank_)) items_.clear();
    for (const Item& item : items_) {
      if (item.put) place_put(item, sink);
      else sink.packet(item.bytes.data(), item.bytes.size());
    }
    bool moved = !items_.empty();
    if (!hub_->faults().hold_puts) {
      for (size_t i = done_.size(); i-- > 0;) {
        if (done_[i].turns-- > 0) continue;
        void* context = done_[i].context;
        done_.erase(done_.begin() + static_cast<std::ptrdiff_t>(i));
        sink.put_done(context, hub_->faults().break_puts ? "broken by a test" : nullptr);
        moved = true;
      }
    }
    return moved;
  }

  Sleep arm() override {
    if (!done_.empty()) return {true, -1, 50};
    if (hub_->arm(rank_)) return {true, hub_->fd(rank_), 0};
    return hub_->waits(rank_) ? Sleep{true, -1, 50} : Sleep{};
  }

  bool idle() const override { return done_.empty(); }

  void close() override {
    closed_ = true;
    windows_.clear();
    done_.clear();
  }

  void describe(Capabilities& capabilities) const override {
    capabilities.name = "loopback";
    capabilities.path = limits_.put_bytes ? "write" : "packets";
    capabilities.wait_descriptor = true;
  }

  void count(Counters&) const override {}

 private:
  // As strict as a network whose endpoint is gone.
  void require_open() const {
    if (closed_) throw Error(SMDDP_ERR_INTERNAL, format("loopback, rank %d: used after it was closed", rank_));
  }

  int place(int peer) const { return places_[static_cast<size_t>(peer)]; }

  void place_put(const Item& item, WireSink& sink) {
    const auto window = windows_.find(item.key);
    if (window == windows_.end() || item.bytes.empty() || item.offset > window->second.bytes ||
        item.bytes.size() > window->second.bytes - item.offset) {
      return;
    }
    for (int i = 0; i <= (item.twice ? 1 : 0); ++i) std::memcpy(window->second.data + item.offset, item.bytes.data(), item.bytes.size());
    sink.landed(item.immediate);
  }

  std::shared_ptr<Hub> hub_;
  int rank_;
  WireLimits limits_;
  bool closed_ = false;
  std::vector<int> places_;
  std::map<uint64_t, Window> windows_;
  uint64_t last_key_ = 0;
  std::vector<Done> done_;
  std::vector<Item> items_;
};

}  // namespace

std::unique_ptr<Transport> make(std::shared_ptr<Hub> hub, int rank, const MessageOptions& options) {
  return std::make_unique<MessageTransport>(std::make_unique<LoopbackWire>(std::move(hub), rank), options);
}

std::unique_ptr<Transport> make_rails(const std::vector<std::shared_ptr<Hub>>& hubs, int rank, const MessageOptions& options,
                                      const rails::RailOptions& rail_options, const std::function<bool(int rank, size_t hub)>& has) {
  std::vector<rails::Rail> all;
  for (size_t i = 0; i < hubs.size(); ++i) {
    if (has && !has(rank, i)) continue;
    all.push_back({format("hub %zu", i), format("%zu", i), std::make_unique<LoopbackWire>(hubs[i], rank)});
  }
  return std::make_unique<MessageTransport>(std::make_unique<rails::RailWire>(std::move(all), rail_options), options);
}

}  // namespace smddp::transport::loopback
