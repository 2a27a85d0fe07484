/* floor [-n RANKS] [--check] [SIZES]: times the bare loops and prints a JSON line per size and kind, or with --check only compares
 * the sums. Ranks are forked processes, rank r on the r-th allowed processor; exit status 1 for a wrong sum or a rank that died. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sample.h"
#include "floor.h"

enum { RUN_LIMIT_S = 600, BARRIER_FLAG = FLAG_COUNT - 1 };

struct kind {
  const char *name;
  void (*call)(struct rank *self, const float *in, float *out, size_t count);
  size_t bytes_min, bytes_max;
  int ranks_max;
};

static void call_zero_copy(struct rank *self, const float *in, float *out, size_t count) {
  (void)in, (void)out;
  zero_copy(self, count);
}

static void one_shot_past(struct rank *self, const float *in, float *out, size_t count) {
  self->past_caches = 1;
  one_shot(self, in, out, count);
  self->past_caches = 0;
}

static void two_copy_past(struct rank *self, const float *in, float *out, size_t count) {
  self->past_caches = 1;
  two_copy(self, in, out, count);
  self->past_caches = 0;
}

static const struct kind kinds[] = {
    {"small", exchange, 4, SLOT_FLOATS * sizeof(float), FLOOR_RANKS_MAX},
    {"one_shot", one_shot, 4, ONE_SHOT_BYTES_MAX, FLOOR_RANKS_MAX},
    {"one_shot_past", one_shot_past, 1024, ONE_SHOT_BYTES_MAX, FLOOR_RANKS_MAX},
    {"two_copy", two_copy, 32768, SIZE_MAX, 2},
    {"two_copy_past", two_copy_past, 32768, SIZE_MAX, 2},
    {"zero_copy", call_zero_copy, 8, SIZE_MAX, 2},
};

static void *map_shared(size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    perror("floor: mmap");
    exit(2);
  }
  return p;
}

static void *allocate(size_t bytes) {
  void *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!p) abort();
  return p;
}

static void pin(int rank) {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  int left = rank % CPU_COUNT(&allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &allowed) || left-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

static void barrier(struct rank *self) {
  struct flag *flags = self->shared->flags[BARRIER_FLAG];
  uint64_t arrived = ++self->posted[BARRIER_FLAG];
  atomic_store_explicit(&flags[self->rank].value, arrived, memory_order_release); /* pairs with await below */
  for (int r = 0; r < self->ranks; r++) await(&flags[r].value, arrived, self->yield);
}

/* Small integers that differ by place and rank: sums are exact and a misplaced element shows. */
static float input_value(int rank, size_t i, unsigned round) { return (float)((i + round) % 1021 * (size_t)(rank + 1)); }

/* Several rounds with other inputs: a slot or window that is read too early gives the sum of an earlier round. */
static int check(struct rank *self, const struct kind *kind, float *in, float *out, size_t count) {
  for (unsigned round = 0; round < 12; round++) {
    for (size_t i = 0; i < count; i++) in[i] = input_value(self->rank, i, round), out[i] = -1;
    barrier(self);
    kind->call(self, in, out, count);
    for (size_t i = 0; i < count; i++) {
      float expected = input_value(0, i, round) * (float)(self->ranks * (self->ranks + 1) / 2);
      if (out[i] != expected) {
        fprintf(stderr, "floor: rank %d of %d, %s of %zu floats, round %u: element %zu is %g, not %g\n", self->rank, self->ranks,
                kind->name, count, round, i, (double)out[i], (double)expected);
        return 1;
      }
    }
    barrier(self);
  }
  return 0;
}

static void measure(struct rank *self, const struct kind *kind, float *in, float *out, size_t count) {
  const size_t bytes = count * sizeof(float);
  const int calls = calls_per_sample(bytes);
  double seconds[SAMPLE_COUNT];
  for (int s = -SAMPLE_WARMUP; s < SAMPLE_COUNT; s++) {
    barrier(self);
    double start = now_s();
    for (int i = 0; i < calls; i++) kind->call(self, in, out, count);
    if (s >= 0) seconds[s] = (now_s() - start) / calls;
  }
  if (self->rank == 0) print_samples(bytes, kind->name, self->ranks, seconds);
}

static int run_rank(struct rank *self, const size_t *sizes, int size_count, size_t largest, int check_only) {
  const char *limit_s = getenv("SMDDP_BENCH_LIMIT_S");
  alarm(limit_s ? (unsigned)atoi(limit_s) : RUN_LIMIT_S);
  pin(self->rank);
  memset(self->windows[self->rank], 0, WINDOW_BYTES);
  float *in = allocate(largest), *out = allocate(largest);
  for (int s = 0; s < size_count; s++) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      const struct kind *kind = &kinds[k];
      if (sizes[s] < kind->bytes_min || sizes[s] > kind->bytes_max || self->ranks > kind->ranks_max) continue;
      const int shared = kind->call == call_zero_copy;
      float *i = shared ? self->inputs[self->rank] : in, *o = shared ? self->outputs[self->rank] : out;
      if (check(self, kind, i, o, sizes[s] / sizeof(float))) return 1;
      if (!check_only) measure(self, kind, i, o, sizes[s] / sizeof(float));
      else if (self->rank == 0) printf("%s of %zu bytes, %d ranks: sums are right\n", kind->name, sizes[s], self->ranks);
    }
  }
  fflush(stdout);
  return 0;
}

int main(int argc, char **argv) {
  size_t sizes[SIZES_MAX], largest = 4096;
  const char *list = "4,64,4K,64K,1M,4M,16M,64M";
  int ranks = 2, check_only = 0, usage = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "-n") == 0 && i + 1 < argc) ranks = atoi(argv[++i]);
    else if (strcmp(argv[i], "--check") == 0) check_only = 1;
    else if (argv[i][0] == '-') usage = 1;
    else list = argv[i];
  }
  int size_count = parse_sizes(list, sizes);
  for (int i = 0; i < size_count; i++) {
    if (sizes[i] % 8 != 0 && sizes[i] != 4) usage = 1;
    if (sizes[i] > largest) largest = sizes[i];
  }
  if (usage || size_count < 1 || ranks < 2 || ranks > FLOOR_RANKS_MAX) {
    fprintf(stderr, "usage: floor [-n RANKS] [--check] [SIZES]\nRANKS: 2 to %d; SIZES: 4 or multiples of 8, as 4,64,4K,1M\n",
            FLOOR_RANKS_MAX);
    return 2;
  }
  struct rank self = {.ranks = ranks, .shared = map_shared(sizeof(struct shared))};
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  self.yield = ranks > CPU_COUNT(&allowed);
  for (int r = 0; r < ranks; r++) self.windows[r] = map_shared(WINDOW_BYTES);
  for (int r = 0; r < 2; r++) self.inputs[r] = map_shared(largest), self.outputs[r] = map_shared(largest);

  pid_t pids[FLOOR_RANKS_MAX];
  for (self.rank = 0; self.rank < ranks; self.rank++) {
    pids[self.rank] = fork();
    if (pids[self.rank] == 0) exit(run_rank(&self, sizes, size_count, largest, check_only));
  }
  int failed = 0, status;
  for (int ended = 0; ended < ranks && wait(&status) > 0; ended++) {
    if (status == 0 || failed) continue;
    failed = 1;
    for (int r = 0; r < ranks; r++) kill(pids[r], SIGKILL);
  }
  return failed;
}
