// What makes two processes share memory: one kernel and one network namespace.
#pragma once

#include <string>

namespace smddp::bootstrap {

// node_id() without SMDDP_NODE_ID, from these files; another source takes the place of a file that cannot be read.
std::string node_id_from(const char* boot_id_file, const char* namespace_file);

}  // namespace smddp::bootstrap
