// From options and environment to a placement. Invariant: each of rank, address, port and job id has one source, and a source that is
// used is checked.
#include "base/error.hpp"
#include "base/parameters.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/launchers.hpp"
#include "bootstrap/slurm.hpp"
#include "bootstrap/socket.hpp"
#include "bootstrap/unique_id.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

namespace smddp::bootstrap {
namespace {

Error invalid(const std::string& text) { return Error(SMDDP_ERR_INVALID_ARGUMENT, text); }

void note_parameter(parameter::Id id, Placement& placement) {
  placement.notes.push_back(format("%s=%s", parameter_at(id).name, parameter_text(id).c_str()));
}

void take_rank(const smddp_init_options_t* options, Placement& placement, Launched& launcher) {
  if (!options || options->size == 0) {
    launcher = launched(placement.notes);
    placement.rank = launcher.rank;
    placement.size = launcher.size;
    placement.origin = launcher.origin;
    return;
  }
  if (options->size < 0) throw invalid(format("options.size=%d is negative", options->size));
  if (options->rank < 0 || options->rank >= options->size) {
    throw invalid(format("options.rank=%d is not one of 0 to %d (options.size=%d)", options->rank, options->size - 1, options->size));
  }
  placement.rank = options->rank;
  placement.size = options->size;
  placement.origin = "options";
  launcher.has_meeting_variables = true;
}

// The environment of a server is smddprun's, or one that a user has made like it.
void take_server(const smddp_init_options_t* options, Placement& placement, Launched& launcher) {
  launcher.has_meeting_variables = true;
  if (placement.servers == 0) throw invalid("SMDDP_SERVERS is not set: a server needs the number of servers");
  int number = 0;
  if (options && options->size != 0) {
    if (options->size < 0) throw invalid(format("options.size=%d is negative", options->size));
    placement.size = options->size;
    placement.origin = "options";
    number = options->rank;
  } else {
    const char* size = read_variable("WORLD_SIZE", placement.notes);
    if (!size) throw invalid("WORLD_SIZE is not set: a server needs the number of ranks");
    placement.size = static_cast<int>(integer_variable("WORLD_SIZE", size, 1, INT_MAX - placement.servers));
    placement.origin = "SMDDP_SERVER and WORLD_SIZE";
    number = static_cast<int>(parameter_number(parameter::kServer));
    note_parameter(parameter::kServer, placement);
  }
  if (number < 0 || number >= placement.servers) {
    throw invalid(format("%s=%d is not one of 0 to %d (SMDDP_SERVERS=%d)", placement.origin == "options" ? "options.rank" : "SMDDP_SERVER", number,
                         placement.servers - 1, placement.servers));
  }
  placement.rank = placement.size + number;
}

// The error for a part of the meeting place that nobody has given.
Error missing(const Placement& placement, const Launched& launcher, const char* field, const char* ours, const char* master) {
  if (placement.origin == "options") {
    return invalid(format("options.%s is not given and neither %s nor %s is set", field, ours, master));
  }
  if (launcher.has_meeting_variables) {
    return invalid(format("WORLD_SIZE=%d is set, but neither %s nor %s says where the ranks meet", placement.size, master, ours));
  }
  return Error(SMDDP_ERR_UNSUPPORTED,
               format("%s gives rank %d of %d, but no way to ask where rank 0 is: set MASTER_ADDR and MASTER_PORT to host and port of "
                      "rank 0 on all ranks",
                      placement.origin.c_str(), placement.rank, placement.size));
}

bool address_is_given(const smddp_init_options_t* options) {
  return (options && options->address) || parameter_is_set(parameter::kAddress) || std::getenv("MASTER_ADDR");
}

// Whether the address came from the options.
bool take_address(const smddp_init_options_t* options, Placement& placement, const Launched& launcher) {
  if (options && options->address) {
    if (!*options->address) throw invalid("options.address is an empty string");
    placement.address = options->address;
    return true;
  }
  if (parameter_is_set(parameter::kAddress)) {
    placement.address = parameter_text(parameter::kAddress);
    note_parameter(parameter::kAddress, placement);
    return false;
  }
  if (!launcher.host.empty() && !std::getenv("MASTER_ADDR")) {
    placement.address = launcher.host;
    return false;
  }
  const char* master = read_variable("MASTER_ADDR", placement.notes);
  if (!master) throw missing(placement, launcher, "address", "SMDDP_BOOTSTRAP_ADDRESS", "MASTER_ADDR");
  if (!*master) throw invalid("MASTER_ADDR is set but empty");
  placement.address = master;
  return false;
}

// Whether the port came from the options.
bool take_port(const smddp_init_options_t* options, Placement& placement, const Launched& launcher) {
  placement.port_count = 1;
  if (options && options->port != 0) {
    if (options->port < 0 || options->port > 65535) throw invalid(format("options.port=%d is not a port from 1 to 65535", options->port));
    placement.port = options->port;
    return true;
  }
  if (parameter_is_set(parameter::kPort)) {
    placement.port = static_cast<int>(parameter_number(parameter::kPort));
    note_parameter(parameter::kPort, placement);
    if (placement.port != 0) return false;
  }
  if (!launcher.host.empty() && placement.address == launcher.host && !std::getenv("MASTER_ADDR")) {
    placement.port = launcher.port;
    placement.port_count = launcher.port_count;
    return false;
  }
  const char* master = read_variable("MASTER_PORT", placement.notes);
  if (!master) throw missing(placement, launcher, "port", "SMDDP_BOOTSTRAP_PORT", "MASTER_PORT");
  placement.port = static_cast<int>(integer_variable("MASTER_PORT", master, 1, 65535));
  // A server started by hand cannot know whether the ranks are torchrun's, which meet above: it asks at all of these ports.
  if (placement.rank >= placement.size) placement.port_count = std::min(1 + kPortsToTry, 65536 - placement.port);
  if (!store_holds_master_port()) return false;
  placement.notes.push_back("TORCHELASTIC_RUN_ID is set: its store has MASTER_PORT, the ranks meet above it");
  placement.port_count = std::min(kPortsToTry, 65535 - placement.port);
  if (placement.port_count == 0) throw invalid("MASTER_PORT=65535 leaves no port above it to meet at: set SMDDP_BOOTSTRAP_PORT");
  ++placement.port;
  return false;
}

void take_job_id(const smddp_init_options_t* options, Placement& placement, const Launched& launcher) {
  if (options && options->job_id) {
    placement.job_id = options->job_id;
  } else if (parameter_is_set(parameter::kJobId)) {
    placement.job_id = parameter_text(parameter::kJobId);
    note_parameter(parameter::kJobId, placement);
  } else {
    placement.job_id = torchrun_job_id();
    if (placement.job_id.empty()) placement.job_id = launcher.job_id;
  }
}

// The launcher's socket is duplicated: a later context of this process meets at it again.
void take_listener(Placement& placement) {
  const auto fd = static_cast<int>(parameter_number(parameter::kFd));
  if (fd < 0) return;
  note_parameter(parameter::kFd, placement);
  if (!is_listener(fd) || (placement.port != 0 && local_address(fd).port() != placement.port)) {
    placement.notes.push_back(
        format("warning: descriptor %d is not a socket that listens at port %d; rank 0 opens its own", fd, placement.port));
    return;
  }
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  placement.listener.reset(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!placement.listener) throw system_error("fcntl(F_DUPFD_CLOEXEC)", format("SMDDP_BOOTSTRAP_FD=%d", fd));
}

}  // namespace

Placement placement(const smddp_init_options_t* options, Role role) {
  Placement placement;
  Launched launcher;
  if (options && options->unique_id && options->size == 0) {
    throw invalid("options.unique_id needs options.size and options.rank, but options.size is 0");
  }
  placement.servers = static_cast<int>(parameter_number(parameter::kServers));
  if (placement.servers) note_parameter(parameter::kServers, placement);
  if (role == Role::kServer) take_server(options, placement, launcher); else take_rank(options, placement, launcher);
  if (options && options->unique_id) {
    // Which servers could not know. So a program can have other jobs beside the one that has servers.
    if (role == Role::kServer) throw invalid("options.unique_id is given, but a job that meets by one has no servers");
    placement.servers = 0;
    use_unique_id(*options->unique_id, placement);
    return placement;
  }
  take_job_id(options, placement, launcher);
  if (placement.members() == 1) return placement;
  if (launcher.exchange != Exchange::kNone && !address_is_given(options)) {
    if (placement.servers) {
      throw invalid(format("SMDDP_SERVERS=%d is set, but where ranks meet by %s no server finds them: set MASTER_ADDR and MASTER_PORT to host and "
                           "port of rank 0 on all ranks and servers", placement.servers, placement.origin.c_str()));
    }
    placement.exchange = launcher.exchange;
    return placement;
  }
  const bool own_address = take_address(options, placement, launcher);
  const bool own_port = take_port(options, placement, launcher);
  if (placement.rank == 0 && !own_address && !own_port) take_listener(placement);
  return placement;
}

}  // namespace smddp::bootstrap
