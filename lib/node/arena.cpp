#include "node/arena.hpp"

#include "base/error.hpp"
#include "node/stores.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <new>
#include <unordered_map>

namespace smddp::node {
namespace {

// The mappings of this process by inode of their memfd, and the blocks that users hold, each with a share of its mapping.
struct Registry {
  std::recursive_mutex mutex;  // recursive: the last owner of a mapping may let go of it while it holds the lock
  std::map<std::pair<dev_t, ino_t>, std::weak_ptr<Arena>> by_file;
  std::map<const unsigned char*, std::weak_ptr<Arena>> by_address;
  std::unordered_map<const void*, std::shared_ptr<Arena>> user_blocks;
};

Registry& registry() {
  static Registry* const instance = new Registry;  // never destroyed: handles may be used while the process exits
  return *instance;
}

uint64_t heap_begin(int ranks) {
  const size_t lines = sizeof(ArenaHeader) + static_cast<size_t>(ranks) * sizeof(RankLine);
  return (lines + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// A limit on the sizes of files is an error here, not the signal that would end the process.
bool set_length(int fd, uint64_t bytes) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  const bool done = ftruncate(fd, static_cast<off_t>(bytes)) == 0;
  const int error = errno;
  const timespec none{0, 0};
  if (!done && !sigismember(&before, SIGXFSZ)) sigtimedwait(&set, nullptr, &none);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return done;
}

}  // namespace

UniqueFd Arena::create(int ranks, uint64_t heap_bytes) {
  UniqueFd fd(memfd_create("smddp", MFD_CLOEXEC));
  if (!fd) throw system_error("memfd_create", "while making the memory that the ranks of this node share");
  const uint64_t begin = heap_begin(ranks);
  const uint64_t bytes = begin + heap_bytes * static_cast<uint64_t>(ranks);
  if (!set_length(fd.get(), bytes)) {
    throw system_error("ftruncate", format("to %llu bytes of shared address space for %d ranks; SMDDP_HEAP_BYTES makes it smaller, see also ulimit -f",
                                           static_cast<unsigned long long>(bytes), ranks));
  }
  void* page = mmap(nullptr, sizeof(ArenaHeader), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (page == MAP_FAILED) throw system_error("mmap", "of the header of the shared memory");
  ArenaHeader* header = new (page) ArenaHeader{};
  header->magic = kArenaMagic;
  header->version = kProtocolVersion;
  header->ranks = static_cast<uint32_t>(ranks);
  header->heap_offset = begin;
  header->heap_bytes = heap_bytes;
  header->board_offset = kNoOffset;
  header->stream_bytes.store(kNeverStream, std::memory_order_relaxed);
  munmap(page, sizeof(ArenaHeader));
  return fd;
}

std::shared_ptr<Arena> Arena::open(UniqueFd fd) {
  struct stat info;
  if (fstat(fd.get(), &info) != 0) throw system_error("fstat", "of the shared memory");
  Registry& all = registry();
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  std::weak_ptr<Arena>& known = all.by_file[{info.st_dev, info.st_ino}];
  if (std::shared_ptr<Arena> arena = known.lock()) return arena;
  const size_t bytes = static_cast<size_t>(info.st_size);
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
  if (base == MAP_FAILED) {
    throw system_error("mmap", format("of %zu bytes of shared address space; SMDDP_HEAP_BYTES makes it smaller", bytes));
  }
  madvise(base, bytes, MADV_DONTDUMP);
  auto arena = std::make_shared<Arena>(std::move(fd), static_cast<unsigned char*>(base), bytes);
  const ArenaHeader& header = arena->header();
  if (header.magic != kArenaMagic || header.version != kProtocolVersion) {
    throw Error(SMDDP_ERR_VERSION, format("shared memory has protocol version %u, this library has %u", header.version, kProtocolVersion));
  }
  known = arena;
  all.by_address[arena->base_] = arena;
  return arena;
}

std::shared_ptr<Arena> Arena::find(const void* pointer) {
  Registry& all = registry();
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  auto it = all.by_address.upper_bound(static_cast<const unsigned char*>(pointer));
  if (it == all.by_address.begin()) return nullptr;
  std::shared_ptr<Arena> arena = std::prev(it)->second.lock();
  return arena && arena->offset_of(pointer, 1) != kNoOffset ? arena : nullptr;
}

Arena::Arena(UniqueFd fd, unsigned char* base, size_t bytes)
    : fd_(std::move(fd)), owner_(getpid()), base_(base), bytes_(bytes), heap_begin_(header().heap_offset), heaps_(header().ranks) {}

Arena::~Arena() {
  Registry& all = registry();
  {
    const std::lock_guard<std::recursive_mutex> lock(all.mutex);
    const auto it = all.by_address.find(base_);
    if (it != all.by_address.end() && it->second.expired()) all.by_address.erase(it);
    for (auto file = all.by_file.begin(); file != all.by_file.end();) {
      file = file->second.expired() ? all.by_file.erase(file) : std::next(file);
    }
  }
  munmap(base_, bytes_);
}

Heap& Arena::heap(int local_rank) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<Heap>& heap = heaps_[static_cast<size_t>(local_rank)];
  if (!heap) {
    const uint64_t bytes = header().heap_bytes;
    heap = std::make_unique<Heap>(heap_begin_ + bytes * static_cast<uint64_t>(local_rank), bytes);
  }
  return *heap;
}

void Arena::discard(uint64_t offset, uint64_t bytes) const {
  constexpr int kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  while (fallocate(fd_.get(), kPunch, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0 && errno == EINTR) continue;
}

void* Arena::allocate(const std::shared_ptr<Arena>& arena, int local_rank, size_t bytes) {
  const uint64_t offset = arena->heap(local_rank).allocate(bytes, Heap::Use::kUser);
  if (offset == kNoOffset) return nullptr;
  void* pointer = arena->at(offset);
  // A block may have served as window or message before.
  arena->discard(offset, arena->heap(local_rank).block_bytes(offset));
  Registry& all = registry();
  const std::lock_guard<std::recursive_mutex> lock(all.mutex);
  all.user_blocks.emplace(pointer, arena);
  return pointer;
}

bool Arena::release(void* pointer) {
  Registry& all = registry();
  std::shared_ptr<Arena> arena;
  {
    const std::lock_guard<std::recursive_mutex> lock(all.mutex);
    const auto it = all.user_blocks.find(pointer);
    if (it == all.user_blocks.end()) return false;
    arena = std::move(it->second);
    all.user_blocks.erase(it);
  }
  if (arena->owner_ != getpid()) return true;
  const uint64_t offset = static_cast<uint64_t>(static_cast<unsigned char*>(pointer) - arena->base_);
  const uint64_t owner = (offset - arena->heap_begin_) / arena->header().heap_bytes;
  Heap& heap = arena->heap(static_cast<int>(owner));
  arena->discard(offset, heap.block_bytes(offset));
  heap.free(offset);
  return true;
}

void Arena::before_fork() { registry().mutex.lock(); }

void Arena::after_fork_in_parent() { registry().mutex.unlock(); }

void Arena::after_fork_in_child() {
  Registry& all = registry();
  new (&all.mutex) std::recursive_mutex;  // it belonged to a thread of the parent, which the child's thread is not
  for (const auto& entry : all.by_address) {
    const std::shared_ptr<Arena> arena = entry.second.lock();
    if (!arena || arena->is_private_) continue;  // a grandchild has what its parent wrote, as after any fork
    arena->is_private_ = mmap(arena->base_, arena->bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, arena->fd_.get(), 0) !=
                         MAP_FAILED;
    if (!arena->is_private_) mprotect(arena->base_, arena->bytes_, PROT_READ);
  }
}

}  // namespace smddp::node
