// smddp-info --schedule: what each rank, or one, does in a collective.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

struct ScheduleOptions {
  std::string collective, algorithm, nodes;
  int ranks = 0, servers = 0, rank = -1, root = 0;  // rank −1: all
};

// Adds the options to app.
void add_schedule_options(CLI::App& app, ScheduleOptions& options);

// The exit status: 0, or 2 with the reason on standard error.
int print_schedule(const ScheduleOptions& options, bool as_json);
