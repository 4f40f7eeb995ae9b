#include "env/kernel_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

namespace refrain::env {
namespace {

std::string demangled(std::string_view name) {
  std::string text(name);
  if (!name.starts_with("_Z")) {
    return text;
  }
  struct Free {
    void operator()(char* memory) const noexcept { std::free(memory); }
  };
  int status = 0;
  const std::unique_ptr<char, Free> plain(abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status));
  return plain != nullptr ? std::string(plain.get()) : text;
}

void remove_all(std::string* text, std::string_view what) {
  for (std::size_t at = text->find(what); at != std::string::npos; at = text->find(what, at)) {
    text->erase(at, what.size());
  }
}

bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The last name that ends behind "unctor", or goes on with a word behind it.
std::string_view functor_in(std::string_view arguments) {
  constexpr std::string_view kMark = "unctor";
  const std::size_t mark = arguments.rfind(kMark);
  if (mark == std::string_view::npos) {
    return {};
  }
  std::size_t begin = mark;
  std::size_t end = mark + kMark.size();
  while (begin > 0 && is_letter(arguments[begin - 1])) {
    --begin;
  }
  while (end < arguments.size() && is_letter(arguments[end])) {
    ++end;
  }
  return arguments.substr(begin, end - begin);
}

}  // namespace

std::string short_name(std::string_view name) {
  std::string text = demangled(name);
  remove_all(&text, "(anonymous namespace)::");
  // The own name ends where the parameters begin, or with the template arguments in front of them.
  std::string own;
  std::string arguments;  // the template's, of the last name
  int depth = 0;
  for (const char c : text) {
    if (c == '>' && depth > 0) {
      --depth;
    }
    if (depth > 0) {
      arguments += c;
    } else if (c == '(' && !own.empty()) {
      break;
    } else if (c == ' ' || c == ':') {
      own.clear();
      arguments.clear();
    } else if (c != '<' && c != '>') {
      own += c;
    }
    if (c == '<') {
      ++depth;
    }
  }
  if (own.empty() || depth != 0) {  // it is named in another way
    return std::string(name);
  }
  constexpr std::size_t kTellsNothing = 8;
  std::string_view told = functor_in(arguments);
  if (told.empty() && own.size() < kTellsNothing) {
    told = std::string_view(arguments).substr(0, arguments.find_first_of(",<"));
    told.remove_prefix(std::min(told.size(), told.rfind(':') + 1));
  }
  return told.empty() ? own : own + "<" + std::string(told) + ">";
}

}  // namespace refrain::env
