// smddp-server: a server of a job, which reduces for its ranks.
#include "../command_line.hpp"

#include <smddp/smddp.h>


#include <cstdio>

namespace {

enum ExitStatus { kFailed = 1, kUsage = 2 };

constexpr const char* kFooter = R"(
smddprun --servers starts servers and ends them; by hand, on any host, each needs
  SMDDP_SERVERS and SMDDP_SERVER          their number, which all ranks have too, and which of them this is
  WORLD_SIZE                              the number of ranks
  MASTER_ADDR, MASTER_PORT, SMDDP_JOB_ID  as the ranks have them, or SMDDP_BOOTSTRAP_ADDRESS and SMDDP_BOOTSTRAP_PORT

Exit status: 0 if the ranks finalized; 1 if the job broke or could not be joined; 2 for a bad command line.)";

// Whether the same ranks may start again.
bool may_follow(smddp_status_t status) {
  switch (status) {
    case SMDDP_SUCCESS:
    case SMDDP_ERR_PEER_GONE:
    case SMDDP_ERR_MISMATCH:
    case SMDDP_ERR_ABORTED:
    case SMDDP_ERR_TIMEOUT: return true;
    default: return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Reduces for the ranks of a job, of which it is none.", "smddp-server");
  app.footer(kFooter);
  bool again = false;
  app.add_flag("--again", again, "Serve the ranks again when they start again, until a signal ends this process");
  if (const std::optional<int> status = parse_command_line(app, argc, argv, kUsage)) return *status;
  smddp_status_t status;
  do {
    status = smddp_serve(nullptr);
    if (status != SMDDP_SUCCESS) std::fprintf(stderr, "smddp-server: %s\n", smddp_last_error());
  } while (again && may_follow(status));
  return status == SMDDP_SUCCESS ? 0 : kFailed;
}
