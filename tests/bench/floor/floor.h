/* The floor: float32 sum allreduce between processes that share memory, without a library: what the machine itself allows.
 * Invariant: the loops do only what moves and adds the data, and never wait but for data; nothing is checked, no rank may die. */
#ifndef SMDDP_BENCH_FLOOR_H
#define SMDDP_BENCH_FLOOR_H

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum {
  FLOOR_RANKS_MAX = 64,
  FLOOR_SLOTS = 4,
  LINE_FLOATS = 14,                 /* a 64-byte cache line less its sequence word */
  SLOT_FLOATS = 2 * LINE_FLOATS,
  WINDOW_BYTES = 1 << 20,           /* per rank, for one_shot and two_copy */
  ONE_SHOT_BYTES_MAX = WINDOW_BYTES / FLOOR_SLOTS,
  SEGMENT_FLOATS = 16384,           /* of two_copy: 64 KiB */
  FLAG_COUNT = 8
};

struct line {
  _Alignas(64) _Atomic uint64_t sequence;
  float payload[LINE_FLOATS];
};
struct slot {
  struct line lines[2];
};
struct flag {
  _Alignas(128) _Atomic uint64_t value;
};

/* In shared memory, one for all ranks. */
struct shared {
  struct slot slots[FLOOR_SLOTS][FLOOR_RANKS_MAX];
  struct flag flags[FLAG_COUNT][FLOOR_RANKS_MAX];
};

/* One rank's view. */
struct rank {
  int rank, ranks;
  int yield;                        /* more ranks than processors: give way after one failed poll */
  struct shared *shared;
  float *windows[FLOOR_RANKS_MAX];  /* shared, WINDOW_BYTES each */
  float *inputs[2], *outputs[2];    /* shared, for zero_copy: both ranks' buffers */
  int past_caches;                  /* windows are written by streaming stores */
  uint64_t sequence;                /* of exchange and one_shot */
  uint64_t posted[FLAG_COUNT];
};

/* Small, any number of ranks, count <= SLOT_FLOATS. Cost: one message in a row. */
void exchange(struct rank *self, const float *in, float *out, size_t count);

/* Any number of ranks, count * 4 <= ONE_SHOT_BYTES_MAX: each copies its input into its window and adds all of the others'. */
void one_shot(struct rank *self, const float *in, float *out, size_t count);

/* Two ranks, private buffers, count even: a pipeline of reduce-scatter and allgather through the windows. */
void two_copy(struct rank *self, const float *in, float *out, size_t count);

/* Two ranks, inputs[] to outputs[], count even: each adds one half and stores the result into both outputs. */
void zero_copy(struct rank *self, size_t count);

/* By streaming stores; fenced. */
void copy_streaming(float *restrict to, const float *restrict from, size_t count);

/* No pause instruction: nobody shares the core, and it costs some 5 % of the small exchange. */
static inline void await(const _Atomic uint64_t *word, uint64_t at_least, int yield) {
  while (atomic_load_explicit(word, memory_order_acquire) < at_least) {
    if (yield) sched_yield();
  }
}

#endif
