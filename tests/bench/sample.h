/* How every program of tests/bench measures: one sample is a run of back-to-back calls, divided by their number; a size has
 * 3 warm-up samples and SAMPLE_COUNT counted ones, of which the median and the minimum are printed. The number of calls in a
 * sample follows from the size alone, so all ranks and all programs agree on it without a message. */
#ifndef SMDDP_BENCH_SAMPLE_H
#define SMDDP_BENCH_SAMPLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLE_COUNT = 21, SAMPLE_WARMUP = 3, SIZES_MAX = 64 };

static inline double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline int calls_per_sample(size_t bytes) {
  if (bytes <= 4096) return 1000;
  if (bytes <= 65536) return 200;
  if (bytes <= (1u << 20)) return 20;
  if (bytes <= (4u << 20)) return 5;
  if (bytes <= (16u << 20)) return 2;
  return 1;
}

static inline int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Prints one JSON line; sorts seconds (SAMPLE_COUNT of them, each of one call). */
static inline void print_samples(size_t bytes, const char *kind, int ranks, double *seconds) {
  qsort(seconds, SAMPLE_COUNT, sizeof *seconds, compare_doubles);
  printf("{\"bytes\": %zu, \"kind\": \"%s\", \"ranks\": %d, \"median_us\": %.4f, \"min_us\": %.4f}\n", bytes, kind, ranks,
         seconds[SAMPLE_COUNT / 2] * 1e6, seconds[0] * 1e6);
  fflush(stdout);
}

/* Reads "4,64,4K,1M" into sizes; returns how many, or -1 for text that is not such a list or has more than SIZES_MAX entries. */
static inline int parse_sizes(const char *text, size_t *sizes) {
  int n = 0;
  while (*text) {
    char *end;
    unsigned long long v = strtoull(text, &end, 10);
    if (end == text || n == SIZES_MAX) return -1;
    if (*end == 'K') v <<= 10, end++;
    else if (*end == 'M') v <<= 20, end++;
    else if (*end == 'G') v <<= 30, end++;
    if (*end == ',') end++;
    else if (*end) return -1;
    sizes[n++] = (size_t)v;
    text = end;
  }
  return n;
}

#endif
