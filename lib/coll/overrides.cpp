#include "coll/overrides.hpp"

#include "base/error.hpp"
#include "base/parameters.hpp"

namespace smddp::coll {
namespace {

std::string all_names() {
  std::string text;
  for (size_t i = 1; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    text += format("%s%s has %s", text.empty() ? "" : "; ", collective_name(collective), algorithm_names(collective).c_str());
  }
  return text;
}

// One word of the text; returns what is wrong with it.
std::string add_word(const std::string& word, Overrides& overrides) {
  const size_t colon = word.find(':');
  const bool all = colon == std::string::npos;
  const std::string wanted = all ? "" : word.substr(0, colon), name = all ? word : word.substr(colon + 1);
  bool known = false, found = false;
  for (size_t i = 1; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (!all && wanted != collective_name(collective)) continue;
    known = true;
    const Algorithm* algorithm = find_algorithm(collective, name);
    if (algorithm) overrides[i] = algorithm;
    else if (!all) return no_algorithm(collective, name);
    found |= algorithm != nullptr;
  }
  if (!known) return format("'%s' is no collective; %s", wanted.c_str(), all_names().c_str());
  return found ? "" : format("no collective has an algorithm '%s'; %s", name.c_str(), all_names().c_str());
}

}  // namespace

Overrides parse_overrides(const std::string& text) {
  Overrides overrides{};
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string problem = add_word(text.substr(begin, end - begin), overrides);
    if (!problem.empty()) {
      throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("%s='%s': %s", parameter_at(parameter::kAlgorithm).name, text.c_str(), problem.c_str()));
    }
    begin = end + 1;
  }
  return overrides;
}

}  // namespace smddp::coll
