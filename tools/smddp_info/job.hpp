// smddp-info --job: a job that only describes itself.
#pragma once

// Starts the job that the launcher describes; rank 0 prints. The exit status: 0, or 1 with the reason on standard error.
int print_job(bool as_json);
