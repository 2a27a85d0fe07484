// A list of interfaces as environment variables give it: "eth0,eth1", "eth", "^docker". A word that is the name of an interface stands for
// this one alone: eth1 is not eth10 where both are there.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace smddp::bootstrap {

class InterfaceFilter {
 public:
  explicit InterfaceFilter(const std::string& text) : excludes_(text[0] == '^') {
    for (size_t begin = excludes_; begin < text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      if (end > begin) words_.push_back({text.substr(begin, end - begin), false});
      begin = end + 1;
    }
  }

  bool is_anything() const { return words_.empty(); }

  // To be told all names there are before it is asked.
  void look_at(const std::string& name) {
    for (Word& word : words_) word.is_name |= word.text == name;
  }

  bool allows(const std::string& name) const {
    const bool found = std::any_of(words_.begin(), words_.end(), [&](const Word& word) {
      return word.is_name ? name == word.text : name.rfind(word.text, 0) == 0;
    });
    return is_anything() || found != excludes_;
  }

 private:
  struct Word {
    std::string text;
    bool is_name;
  };
  bool excludes_;
  std::vector<Word> words_;
};

}  // namespace smddp::bootstrap
