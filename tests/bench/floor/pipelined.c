/* The two-rank loops for large buffers: rank r owns half r of the result. Invariant: a flag counts the segments (or phases) its
 * writer has done, and is stored only after the data it announces, streaming stores fenced. */
#include "floor.h"

#include <string.h>

#include "stream.h"

/* Measured: with private results streaming stores pay from 1 MiB on, into two shared outputs from 4 MiB on. */
enum { STREAM_TWO_COPY_FLOATS = 1 << 18, STREAM_ZERO_COPY_FLOATS = 1 << 20 };

enum { PUBLISHED, REDUCED, GATHERED, ENTERED, STORED };
enum { DEPTH = 2 };

static void post(struct rank *self, int flag) {
  atomic_store_explicit(&self->shared->flags[flag + 1][self->rank].value, ++self->posted[flag], memory_order_release);
}

static void await_peer(struct rank *self, int flag, uint64_t at_least) {
  await(&self->shared->flags[flag + 1][1 - self->rank].value, at_least, self->yield); /* pairs with the peer's post */
}

/* Floats before the first whole cache line; plain stores do them and what remains at the end. */
static size_t stream_head(const float *a, size_t count) {
  size_t head = (64 - (uintptr_t)a % 64) % 64 / sizeof *a;
  return head < count ? head : count;
}

void copy_streaming(float *restrict to, const float *restrict from, size_t count) {
  size_t i = stream_head(to, count);
  memcpy(to, from, i * sizeof *to);
  for (; i + VECTOR_FLOATS <= count; i += VECTOR_FLOATS) vector_stream(to + i, vector_load(from + i));
  stream_fence();
  memcpy(to + i, from + i, (count - i) * sizeof *to);
}

/* to[i] = also[i] = a[i] + b[i]; to is streamed, also too if stream_both, and then the two are equally aligned. */
static inline __attribute__((always_inline)) void add_streaming(float *restrict to, float *restrict also, const float *restrict a,
                                                                const float *restrict b, size_t count, int stream_both) {
  size_t head = stream_head(to, count), i = 0;
  for (; i < head; i++) to[i] = also[i] = a[i] + b[i];
  for (; i + VECTOR_FLOATS <= count; i += VECTOR_FLOATS) {
    vector sum = vector_add(vector_load(a + i), vector_load(b + i));
    vector_stream(to + i, sum);
    if (stream_both) vector_stream(also + i, sum);
    else vector_store(also + i, sum);
  }
  stream_fence();
  for (; i < count; i++) to[i] = also[i] = a[i] + b[i];
}

static void add_both(float *restrict to, float *restrict also, const float *restrict a, const float *restrict b, size_t count) {
  for (size_t i = 0; i < count; i++) {
    float sum = a[i] + b[i];
    to[i] = sum;
    also[i] = sum;
  }
}

static void add(float *restrict to, const float *restrict a, const float *restrict b, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] = a[i] + b[i];
}

/* Step s: publish segment s of the peer's half, reduce segment s - 1 of the own half, gather segment s - 2 of the peer's half.
 * The window holds DEPTH published and DEPTH reduced segments. */
void two_copy(struct rank *self, const float *in, float *out, size_t count) {
  const int me = self->rank, peer = 1 - me, stream = count >= STREAM_TWO_COPY_FLOATS;
  const size_t half = count / 2, segments = (half + SEGMENT_FLOATS - 1) / SEGMENT_FLOATS;
  const uint64_t published = self->posted[PUBLISHED], reduced = self->posted[REDUCED], gathered = self->posted[GATHERED];
  for (size_t s = 0; s < segments + 2; s++) {
    for (size_t stage = 0; stage < 3; stage++) {
      if (s < stage || s - stage >= segments) continue;
      const size_t segment = s - stage, offset = segment * SEGMENT_FLOATS, in_window = segment % DEPTH * SEGMENT_FLOATS;
      const size_t length = half - offset < SEGMENT_FLOATS ? half - offset : SEGMENT_FLOATS;
      const size_t own_part = me * half + offset, peer_part = peer * half + offset;
      float *my_input = self->windows[me] + in_window, *my_result = my_input + DEPTH * SEGMENT_FLOATS;
      const float *peer_input = self->windows[peer] + in_window, *peer_result = peer_input + DEPTH * SEGMENT_FLOATS;
      if (stage == 0) {
        if (segment >= DEPTH) await_peer(self, REDUCED, reduced + segment - DEPTH + 1);
        if (self->past_caches) copy_streaming(my_input, in + peer_part, length);
        else memcpy(my_input, in + peer_part, length * sizeof *in);
        post(self, PUBLISHED);
      } else if (stage == 1) {
        await_peer(self, PUBLISHED, published + segment + 1);
        if (segment >= DEPTH) await_peer(self, GATHERED, gathered + segment - DEPTH + 1);
        if (stream) {
          const int both = self->past_caches && (uintptr_t)(out + own_part) % 64 == (uintptr_t)my_result % 64;
          add_streaming(out + own_part, my_result, in + own_part, peer_input, length, both);
        } else {
          add(out + own_part, in + own_part, peer_input, length);
          if (self->past_caches) copy_streaming(my_result, out + own_part, length);
          else memcpy(my_result, out + own_part, length * sizeof *out);
        }
        post(self, REDUCED);
      } else {
        await_peer(self, REDUCED, reduced + segment + 1);
        if (stream) copy_streaming(out + peer_part, peer_result, length);
        else memcpy(out + peer_part, peer_result, length * sizeof *out);
        post(self, GATHERED);
      }
    }
  }
  await_peer(self, GATHERED, gathered + segments);
}

void zero_copy(struct rank *self, size_t count) {
  const int me = self->rank, peer = 1 - me;
  const size_t half = count / 2, offset = me * half;
  post(self, ENTERED);
  await_peer(self, ENTERED, self->posted[ENTERED]);
  const float *a = self->inputs[0] + offset, *b = self->inputs[1] + offset;
  if (count >= STREAM_ZERO_COPY_FLOATS) add_streaming(self->outputs[me] + offset, self->outputs[peer] + offset, a, b, half, 1);
  else add_both(self->outputs[me] + offset, self->outputs[peer] + offset, a, b, half);
  post(self, STORED);
  await_peer(self, STORED, self->posted[STORED]);
}
