// smddp_init, smddp_serve, smddp_finalize and the communicators.
#include "api/check.hpp"
#include "api/guard.hpp"

#include "base/parameters.hpp"
#include "core/serve.hpp"

using namespace smddp;
using namespace smddp::api;

namespace {

void check(const smddp_init_options_t* options, const char* function) {
  if (!options) return;
  if (options->struct_size < sizeof(smddp_init_options_t)) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: options->struct_size %zu is not sizeof(smddp_init_options_t), %zu", function,
                                                   options->struct_size, sizeof(smddp_init_options_t)));
  }
  checked_timeout(options->timeout_ms, function);
  checked_thread_mode(options->thread_mode, function);
}

void check(const smddp_comm_options_t* options, const char* function) {
  if (!options) return;
  if (options->struct_size < sizeof(smddp_comm_options_t)) {
    throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: options->struct_size %zu is not sizeof(smddp_comm_options_t), %zu", function,
                                                   options->struct_size, sizeof(smddp_comm_options_t)));
  }
  checked_timeout(options->timeout_ms, function);
  checked_thread_mode(options->thread_mode, function);
  if (options->reserved) throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: options->reserved is %d, not 0", function, options->reserved));
}

template <class T>
T& output(T* pointer, const char* name, const char* function) {
  if (!pointer) throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: %s is NULL", function, name));
  return *pointer;
}

smddp_status_t number(const char* function, const char* name, smddp_comm_t comm, int* out, int (smddp_comm::*get)() const) {
  return guard([&] {
    const smddp_comm& c = checked(comm, function);
    output(out, name, function) = (c.*get)();
  });
}

}  // namespace

extern "C" {

smddp_status_t smddp_init(const smddp_init_options_t* options, smddp_comm_t* world) {
  return guard([&] {
    output(world, "world", "smddp_init") = nullptr;
    check(options, "smddp_init");
    *world = core::Context::start(options)->world();
  });
}

smddp_status_t smddp_serve(const smddp_init_options_t* options) {
  return guard([&] {
    check(options, "smddp_serve");
    return core::serve(options);
  });
}

smddp_status_t smddp_unique_id_create(smddp_unique_id_t* id) {
  return guard([&] { output(id, "id", "smddp_unique_id_create") = bootstrap::create_unique_id(); });
}

smddp_status_t smddp_finalize(smddp_comm_t world) {
  return guard([&] {
    smddp_comm& comm = checked(world, "smddp_finalize");
    if (comm.context->world() != world) throw Error(SMDDP_ERR_INVALID_ARGUMENT, "smddp_finalize: comm is not a world communicator");
    const std::shared_ptr<core::Context> context = comm.context;
    context->finalize();
  });
}

smddp_status_t smddp_comm_world(smddp_comm_t* world) {
  return guard([&] {
    output(world, "world", "smddp_comm_world") = nullptr;
    const std::shared_ptr<core::Context> context = core::first_live_context();
    if (!context) throw Error(SMDDP_ERR_INVALID_USAGE, "smddp_comm_world: this process has no context; smddp_init makes one");
    if (!context->usable()) throw Error(SMDDP_ERR_INVALID_USAGE, "smddp_comm_world: " + context->unusable_reason());
    *world = context->world();
  });
}

smddp_status_t smddp_comm_rank(smddp_comm_t comm, int* rank) { return number("smddp_comm_rank", "rank", comm, rank, &smddp_comm::rank); }

smddp_status_t smddp_comm_size(smddp_comm_t comm, int* size) { return number("smddp_comm_size", "size", comm, size, &smddp_comm::size); }

// All ranks are on one node.
smddp_status_t smddp_comm_local_rank(smddp_comm_t comm, int* local_rank) {
  return number("smddp_comm_local_rank", "local_rank", comm, local_rank, &smddp_comm::local_rank);
}

smddp_status_t smddp_comm_local_size(smddp_comm_t comm, int* local_size) {
  return number("smddp_comm_local_size", "local_size", comm, local_size, &smddp_comm::local_size);
}

smddp_status_t smddp_comm_split(smddp_comm_t comm, int color, int key, const smddp_comm_options_t* options, smddp_comm_t* new_comm) {
  return guard([&] {
    const char* function = "smddp_comm_split";
    smddp_comm& parent = checked(comm, function);
    output(new_comm, "new_comm", function) = nullptr;
    check(options, function);
    if (color < 0 && color != SMDDP_COLOR_NONE) {
      throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s: color %d is negative and not SMDDP_COLOR_NONE", function, color));
    }
    *new_comm = core::split(parent, Collective::kSplit, color, key, options);
  });
}

smddp_status_t smddp_comm_dup(smddp_comm_t comm, const smddp_comm_options_t* options, smddp_comm_t* new_comm) {
  return guard([&] {
    const char* function = "smddp_comm_dup";
    smddp_comm& parent = checked(comm, function);
    output(new_comm, "new_comm", function) = nullptr;
    check(options, function);
    *new_comm = core::split(parent, Collective::kDup, 0, parent.rank(), options);
  });
}

smddp_status_t smddp_comm_free(smddp_comm_t comm) {
  return guard([&] {
    smddp_comm& c = checked(comm, "smddp_comm_free");
    if (c.context->world() == comm) throw Error(SMDDP_ERR_INVALID_ARGUMENT, "smddp_comm_free: the world communicator ends with smddp_finalize");
    if (!c.board->failed() && c.context->engine().has_work(*c.queue)) {
      throw Error(SMDDP_ERR_INVALID_USAGE, format("smddp_comm_free: operations are outstanding on comm '%s'", c.board->name.c_str()));
    }
    c.context->remove(comm);
    core::release_comm(comm);
  });
}

smddp_status_t smddp_comm_abort(smddp_comm_t comm, const char* reason) {
  return guard([&] {
    smddp_comm& c = checked(comm, "smddp_comm_abort");
    c.queue->fail(SMDDP_ERR_ABORTED, format("rank %d aborted comm '%s'%s%.200s", c.world_ranks[static_cast<size_t>(c.rank())], c.board->name.c_str(),
                                            reason && *reason ? ": " : "", reason ? reason : ""));
  });
}

smddp_status_t smddp_comm_status(smddp_comm_t comm) {
  return guard([&]() -> Status {
    const smddp_comm& c = checked(comm, "smddp_comm_status");
    if (c.board->failed()) return c.board->failure(nullptr);
    const std::string who = core::departed(c);
    if (!who.empty()) return {SMDDP_ERR_PEER_GONE, who + smddp::format(", a member of comm '%s'", c.board->name.c_str())};
    return {};
  });
}

smddp_status_t smddp_comm_set_timeout(smddp_comm_t comm, int64_t timeout_ms) {
  return guard([&] {
    smddp_comm& c = checked(comm, "smddp_comm_set_timeout");
    const int64_t timeout = checked_timeout(timeout_ms, "smddp_comm_set_timeout");
    c.timeout_ms.store(timeout ? timeout : parameter_number(parameter::kTimeout));
  });
}

smddp_status_t smddp_comm_set_name(smddp_comm_t comm, const char* name) {
  return guard([&] {
    smddp_comm& c = checked(comm, "smddp_comm_set_name");
    if (!name) throw Error(SMDDP_ERR_INVALID_ARGUMENT, "smddp_comm_set_name: name is NULL");
    c.board->name = std::string(name).substr(0, 63);
  });
}

smddp_status_t smddp_comm_get_name(smddp_comm_t comm, const char** name) {
  return guard([&] {
    const smddp_comm& c = checked(comm, "smddp_comm_get_name");
    output(name, "name", "smddp_comm_get_name") = c.board->name.c_str();
  });
}

smddp_status_t smddp_comm_counter(smddp_comm_t comm, const char* name, uint64_t* value) {
  return guard([&] {
    smddp_comm& c = checked(comm, "smddp_comm_counter");
    if (!name) throw Error(SMDDP_ERR_INVALID_ARGUMENT, "smddp_comm_counter: name is NULL");
    uint64_t& out = output(value, "value", "smddp_comm_counter");
    out = core::counter(c, name);
  });
}

smddp_status_t smddp_comm_transport(smddp_comm_t comm, int peer, const char** transport) {
  return guard([&] {
    const smddp_comm& c = checked(comm, "smddp_comm_transport");
    if (peer < 0 || peer >= c.size()) {
      throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("smddp_comm_transport: peer %d is not in 0 … %d of comm '%s'", peer, c.size() - 1, c.board->name.c_str()));
    }
    output(transport, "transport", "smddp_comm_transport") = core::transport_name(c, peer);
  });
}

}  // extern "C"
