// The command line of a tool that takes options alone.
#pragma once

#include <smddp/smddp.h>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <optional>

// Adds --help and --version and parses; the exit status if that was all, usage being that of a wrong command line.
inline std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv, int usage) {
  const char* name = app.get_name().c_str();
  bool version = false;
  app.set_help_flag("-h,--help", "Print this text");
  app.add_flag("--version", version, "Print the version of the library");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s: %s (%s --help)\n", name, error.what(), name);
    return usage;
  }
  if (!version) return std::nullopt;
  int major = 0, minor = 0, patch = 0;
  smddp_version(&major, &minor, &patch);
  std::printf("%s %d.%d.%d\n", name, major, minor, patch);
  return 0;
}
