// Texts that the library writes into a buffer of the caller.
#pragma once

#include <smddp/smddp.h>

#include <string>

// describe(buffer, capacity, length) until the text fits; then true and the text without trailing line ends, else false and the sentence
// that says why.
template <class Describe>
bool read_text(Describe describe, std::string& text) {
  size_t length = 0;
  smddp_status_t status = describe(nullptr, 0, &length);
  // What is described may grow between two calls.
  for (size_t capacity = 0; status == SMDDP_SUCCESS && capacity <= length;) {
    capacity = length + 1;
    text.resize(capacity);
    status = describe(text.data(), capacity, &length);
  }
  if (status != SMDDP_SUCCESS) {
    text = smddp_last_error();
    return false;
  }
  text.resize(length);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return true;
}
