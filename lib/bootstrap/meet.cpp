// Invariant: what this process itself gets wrong is an error before the network sees anything of it.
#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/client.hpp"
#include "bootstrap/exchange.hpp"
#include "bootstrap/random.hpp"
#include "bootstrap/root.hpp"

namespace smddp::bootstrap {
namespace {

void check_length(const char* what, const std::string& text, size_t most) {
  if (text.size() <= most) return;
  throw Error(SMDDP_ERR_INVALID_ARGUMENT,
              format("%s has %zu characters, at most %zu are allowed: '%.40s…'", what, text.size(), most, text.c_str()));
}

}  // namespace

Meeting meet(Placement& placement, const Member& self, uint32_t protocol, const std::string& parameters, int64_t deadline) {
  if (placement.exchange != Exchange::kNone) exchange_place(placement, deadline);
  check_length("job id", placement.job_id, kMaxJobId);
  check_length("node id", self.node, kMaxNode);
  check_length("host name", self.host, kMaxHost);
  check_length("list of allowed CPUs", self.cpus, kMaxCpus);
  check_length("list of parameters", parameters, kMaxParameters);

  if (placement.members() == 1) {
    placement.listener.reset();
    Meeting meeting;
    random_bytes(meeting.nonce.data(), meeting.nonce.size());
    meeting.members.push_back(self);
    return meeting;
  }
  Hello hello;
  hello.token = random_number();
  hello.rank = placement.rank;
  hello.size = placement.members();
  hello.servers = placement.servers;
  hello.protocol = protocol;
  hello.left_ms = deadline == kNever ? -1 : remaining_ms(deadline);
  hello.timeout_ms = hello.left_ms;
  hello.member = self;
  hello.job_id = placement.job_id;
  hello.parameters = parameters;
  const auto met = [&] {
    if (placement.rank != 0) return join(placement, std::move(hello), deadline);
    const Listening listening = listen_for_ranks(placement, hello, deadline);
    return gather(listening, hello, deadline);
  };
  Meeting meeting = met();
  meeting.servers = placement.servers;
  return meeting;
}

}  // namespace smddp::bootstrap
