// Owners of libfabric's objects, and its errors as sentences. Invariant: an object is closed once, by its owner.
#pragma once

// libfabric's functions under names of our own, for library.cpp opens it at run time.
#define fi_getinfo smddp_ofi_getinfo
#define fi_freeinfo smddp_ofi_freeinfo
#define fi_dupinfo smddp_ofi_dupinfo
#define fi_fabric smddp_ofi_fabric
#define fi_strerror smddp_ofi_strerror

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <memory>
#include <string>
#include <utility>

namespace smddp::transport::ofi {

// Opens libfabric, once. Throws TRANSPORT if it is not installed.
void load_library();

struct InfoFree {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, InfoFree>;

template <class T>
class Fid {
 public:
  Fid() = default;
  Fid(Fid&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Fid& operator=(Fid&& other) noexcept {
    reset(std::exchange(other.object_, nullptr));
    return *this;
  }
  ~Fid() { reset(); }

  T* get() const { return object_; }
  T** out() { return &object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  void reset(T* object = nullptr) {
    if (object_) fi_close(&object_->fid);
    object_ = object;
  }
  void leave_open() { object_ = nullptr; }

 private:
  T* object_ = nullptr;
};

// Throws TRANSPORT with call, provider and reason when result is negative.
void require(int result, const char* call, const fi_info& info);

}  // namespace smddp::transport::ofi
