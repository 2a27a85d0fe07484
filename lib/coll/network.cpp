#include "coll/network.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <charconv>

namespace smddp::coll {
namespace {

// As short as it is exact, with a point whatever the locale says.
std::string text_of(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

[[noreturn]] void invalid(const std::string& text, const std::string& word) {
  std::string figures;
  for (const Figure& figure : kFigures) {
    figures += format("%s%s from %s to %s", figures.empty() ? "" : ", ", figure.name, text_of(figure.least).c_str(), text_of(figure.most).c_str());
  }
  throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("'%s': '%s' is no figure of a network; there are %s", text.c_str(), word.c_str(), figures.c_str()));
}

}  // namespace

const std::array<Figure, 7> kFigures = {{{"latency_us", &Network::latency_us, 0.5, 1000},
                                         {"overhead_us", &Network::overhead_us, 0.05, 50},
                                         {"bytes_per_us", &Network::bytes_per_us, 1, 200000},
                                         {"added_per_us", &Network::added_per_us, 100, 200000},
                                         {"node_latency_us", &Network::node_latency_us, 0.1, 1000},
                                         {"node_bytes_per_us", &Network::node_bytes_per_us, 100, 200000},
                                         {"overlap", &Network::overlap, 0, 1}}};

Network limited(Network network) {
  for (const Figure& figure : kFigures) network.*figure.value = std::clamp(network.*figure.value, figure.least, figure.most);
  return network;
}

std::string text_of(const Network& network) {
  std::string text;
  for (const Figure& figure : kFigures) text += format("%s%s=%s", text.empty() ? "" : ",", figure.name, text_of(network.*figure.value).c_str());
  return text;
}

Network parse_network(const std::string& text) {
  Network network;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = std::min(word.find('='), word.size());
    const auto figure = std::find_if(kFigures.begin(), kFigures.end(), [&](const Figure& one) { return word.substr(0, equals) == one.name; });
    double value = 0;
    const char* from = word.data() + std::min(equals + 1, word.size());
    const auto parsed = std::from_chars(from, word.data() + word.size(), value);
    const bool good = parsed.ec == std::errc() && parsed.ptr == word.data() + word.size() && figure != kFigures.end();
    if (!good || !(value >= figure->least && value <= figure->most)) invalid(text, word);
    network.*figure->value = value;
  }
  return network;
}

}  // namespace smddp::coll
