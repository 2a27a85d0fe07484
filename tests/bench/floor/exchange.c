/* The exchanges in which every rank reads all inputs: through slots (payload and flag in one line) and through windows.
 * Invariant: a slot or window of sequence s is written again at s + FLOOR_SLOTS; then all have read it, because each rank saw all
 * others arrive at s + FLOOR_SLOTS - 1 before. */
#include "floor.h"

#include <string.h>

/* Two things make this fast: the own input is added from registers, since its line is on the way to the peer once it is
 * published, and each 64-byte line has a sequence word of its own, polled last line first, so that no second miss follows the
 * first. */
static inline __attribute__((always_inline)) void exchange_count(struct rank *self, const float *in, float *out, size_t count,
                                                                 int ranks, int yield) {
  const size_t first = count <= LINE_FLOATS ? count : (count + 1) / 2, second = count - first;
  const uint64_t sequence = ++self->sequence;
  struct slot *slots = self->shared->slots[sequence % FLOOR_SLOTS], *mine = &slots[self->rank];
  float own[SLOT_FLOATS], sum[SLOT_FLOATS];
  memcpy(own, in, count * sizeof *in);
  if (second) {
    memcpy(mine->lines[1].payload, own + first, second * sizeof *own);
    atomic_store_explicit(&mine->lines[1].sequence, sequence, memory_order_release); /* pairs with await in the peers */
  }
  memcpy(mine->lines[0].payload, own, first * sizeof *own);
  atomic_store_explicit(&mine->lines[0].sequence, sequence, memory_order_release);
  for (int r = 0; r < ranks; r++) {
    const float *a = own, *b = own + first;
    if (r != self->rank) {
      if (second) await(&slots[r].lines[1].sequence, sequence, yield);
      await(&slots[r].lines[0].sequence, sequence, yield);
      a = slots[r].lines[0].payload;
      b = slots[r].lines[1].payload;
    }
    for (size_t i = 0; i < first; i++) sum[i] = r ? sum[i] + a[i] : a[i];
    for (size_t i = 0; i < second; i++) sum[first + i] = r ? sum[first + i] + b[i] : b[i];
  }
  memcpy(out, sum, count * sizeof *out);
}

void exchange(struct rank *self, const float *in, float *out, size_t count) {
  if (self->ranks == 2 && count == 1 && !self->yield) exchange_count(self, in, out, 1, 2, 0);
  else if (self->ranks == 2 && count == 16 && !self->yield) exchange_count(self, in, out, 16, 2, 0);
  else exchange_count(self, in, out, count, self->ranks, self->yield);
}

static const float *window_of(const struct rank *self, int r, size_t offset, uint64_t sequence) {
  await(&self->shared->flags[0][r].value, sequence, self->yield);
  return self->windows[r] + offset;
}

void one_shot(struct rank *self, const float *in, float *restrict out, size_t count) {
  const uint64_t sequence = ++self->sequence;
  const size_t offset = sequence % FLOOR_SLOTS * (ONE_SHOT_BYTES_MAX / sizeof(float));
  if (self->past_caches) copy_streaming(self->windows[self->rank] + offset, in, count);
  else memcpy(self->windows[self->rank] + offset, in, count * sizeof *in);
  atomic_store_explicit(&self->shared->flags[0][self->rank].value, sequence, memory_order_release); /* pairs with window_of */
  const float *a = self->rank == 0 ? in : window_of(self, 0, offset, sequence);
  const float *b = self->rank == 1 ? in : window_of(self, 1, offset, sequence);
  for (size_t i = 0; i < count; i++) out[i] = a[i] + b[i];
  for (int r = 2; r < self->ranks; r++) {
    const float *c = self->rank == r ? in : window_of(self, r, offset, sequence);
    for (size_t i = 0; i < count; i++) out[i] += c[i];
  }
}
