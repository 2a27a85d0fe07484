// smddp_alloc, smddp_free, smddp_register and smddp_deregister.
#include "api/check.hpp"
#include "api/guard.hpp"

using namespace smddp;
using namespace smddp::api;

extern "C" {

smddp_status_t smddp_alloc(smddp_comm_t comm, size_t bytes, void** pointer) {
  return guard([&] {
    const smddp_comm& c = checked(comm, "smddp_alloc");
    if (!pointer) throw Error(SMDDP_ERR_INVALID_ARGUMENT, "smddp_alloc: pointer is NULL");
    *pointer = nullptr;
    if (bytes == 0) return;
    const node::Group& group = c.context->group();
    void* memory = node::Arena::allocate(group.arena(), group.local_rank(), bytes);
    if (!memory) {
      throw Error(SMDDP_ERR_RESOURCE,
                  format("smddp_alloc: %zu bytes do not fit into the shared memory of rank %d: programs may have %llu bytes of it and have %llu, "
                         "the library has %llu; "
                         "SMDDP_HEAP_BYTES gives more", bytes, c.context->rank(), static_cast<unsigned long long>(group.heap().user_limit()),
                         static_cast<unsigned long long>(group.heap().user_bytes()),
                         static_cast<unsigned long long>(group.heap().used_bytes() - group.heap().user_bytes())));
    }
    *pointer = memory;
  });
}

smddp_status_t smddp_free(void* pointer) {
  return guard([&] {
    if (pointer && !node::Arena::release(pointer)) {
      throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("smddp_free: %p is no pointer that smddp_alloc gave, or was freed", pointer));
    }
  });
}

smddp_status_t smddp_register(smddp_comm_t comm, void* pointer, size_t bytes, smddp_registration_t* registration) {
  return guard([&] {
    smddp_comm& c = checked(comm, "smddp_register");
    if (!registration) throw Error(SMDDP_ERR_INVALID_ARGUMENT, "smddp_register: registration is NULL");
    *registration = nullptr;
    if (!pointer && bytes) throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("smddp_register: pointer is NULL and bytes is %zu", bytes));
    if (bytes > UINTPTR_MAX - reinterpret_cast<uintptr_t>(pointer)) {
      throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("smddp_register: %zu bytes at %p reach beyond the address space", bytes, pointer));
    }
    auto entry = std::make_unique<smddp_registration>(smddp_registration{pointer, bytes});
    smddp_registration* handle = entry.get();
    const std::lock_guard<std::mutex> lock(c.mutex);
    c.registrations.emplace(handle, std::move(entry));
    *registration = handle;
  });
}

smddp_status_t smddp_deregister(smddp_comm_t comm, smddp_registration_t registration) {
  return guard([&] {
    smddp_comm& c = checked(comm, "smddp_deregister");
    if (!registration) return;
    const std::lock_guard<std::mutex> lock(c.mutex);
    if (c.registrations.erase(registration) == 0) {
      throw Error(SMDDP_ERR_INVALID_ARGUMENT, format("smddp_deregister: no such registration on comm '%s'", c.board->name.c_str()));
    }
  });
}

}  // extern "C"
