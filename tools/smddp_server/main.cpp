// smddp-server: a server of a job, which reduces for its ranks.
#include <smddp/smddp.h>

#include <CLI/CLI.hpp>

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
  app.set_help_flag("-h,--help", "Print this text");
  bool again = false, version = false;
  app.add_flag("--again", again, "Serve the ranks again when they start again, until a signal ends this process");
  app.add_flag("--version", version, "Print the version of the library");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "smddp-server: %s (smddp-server --help)\n", error.what());
    return kUsage;
  }
  if (version) {
    int major = 0, minor = 0, patch = 0;
    smddp_version(&major, &minor, &patch);
    std::printf("smddp-server %d.%d.%d\n", major, minor, patch);
    return 0;
  }
  smddp_status_t status;
  do {
    status = smddp_serve(nullptr);
    if (status != SMDDP_SUCCESS) std::fprintf(stderr, "smddp-server: %s\n", smddp_last_error());
  } while (again && may_follow(status));
  return status == SMDDP_SUCCESS ? 0 : kFailed;
}
