// Runs a function that may crash in a child process.
#pragma once

#include <functional>
#include <string>

namespace smddp::topology {

// What make() returns in a child process. Throws SYSTEM with the text of the Error that it threw there, or saying that it crashed or
// took more than 10 s. what: names the work in these sentences.
std::string isolated(const std::string& what, const std::function<std::string()>& make);

}  // namespace smddp::topology
