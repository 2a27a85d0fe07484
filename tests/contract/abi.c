/* The binary interface that programs built against an earlier header rely on: values, sizes, offsets and signatures. Lines are added
 * when the header grows; none may change, but for the SIZE of a struct that begins with struct_size and got a field at its end.
 * Compiled by contract_headers, which also demands a line for every declaration. */
#include <smddp/smddp.h>

#ifdef __cplusplus
#define ASSERT(condition) static_assert(condition, #condition)
#else
#define ASSERT(condition) _Static_assert(condition, #condition)
#endif
#define VALUE(name, value) ASSERT((name) == (value))
#define SIZE(type, bytes) ASSERT(sizeof(type) == (bytes))
#define FIELD(type, field, offset, bytes) \
  ASSERT(offsetof(type, field) == (offset) && sizeof(((type *)0)->field) == (bytes))

/* smddp_status_t */
SIZE(smddp_status_t, 4);
VALUE(SMDDP_SUCCESS, 0);
VALUE(SMDDP_ERR_INVALID_ARGUMENT, 1);
VALUE(SMDDP_ERR_INVALID_USAGE, 2);
VALUE(SMDDP_ERR_UNSUPPORTED, 3);
VALUE(SMDDP_ERR_MISMATCH, 4);
VALUE(SMDDP_ERR_TIMEOUT, 5);
VALUE(SMDDP_ERR_PEER_GONE, 6);
VALUE(SMDDP_ERR_ABORTED, 7);
VALUE(SMDDP_ERR_RESOURCE, 8);
VALUE(SMDDP_ERR_TRUNCATED, 9);
VALUE(SMDDP_ERR_BOOTSTRAP, 10);
VALUE(SMDDP_ERR_VERSION, 11);
VALUE(SMDDP_ERR_SYSTEM, 12);
VALUE(SMDDP_ERR_INTERNAL, 13);
VALUE(SMDDP_ERR_TRANSPORT, 14);
VALUE(SMDDP_ERR_DEVICE, 15);

/* smddp_dtype_t */
SIZE(smddp_dtype_t, 4);
VALUE(SMDDP_DTYPE_NONE, 0);
VALUE(SMDDP_INT8, 1);
VALUE(SMDDP_UINT8, 2);
VALUE(SMDDP_INT16, 3);
VALUE(SMDDP_UINT16, 4);
VALUE(SMDDP_INT32, 5);
VALUE(SMDDP_UINT32, 6);
VALUE(SMDDP_INT64, 7);
VALUE(SMDDP_UINT64, 8);
VALUE(SMDDP_FLOAT16, 9);
VALUE(SMDDP_BFLOAT16, 10);
VALUE(SMDDP_FLOAT32, 11);
VALUE(SMDDP_FLOAT64, 12);
VALUE(SMDDP_BOOL, 13);
VALUE(SMDDP_FLOAT8_E4M3, 16);
VALUE(SMDDP_FLOAT8_E5M2, 17);
VALUE(SMDDP_COMPLEX64, 24);
VALUE(SMDDP_COMPLEX128, 25);
VALUE(SMDDP_FLOAT32_INT32, 32);
VALUE(SMDDP_FLOAT64_INT32, 33);
VALUE(SMDDP_INT32_INT32, 34);
VALUE(SMDDP_INT64_INT32, 35);
VALUE(SMDDP_DTYPE_USER, 4096);

/* smddp_op_t */
SIZE(smddp_op_t, 4);
VALUE(SMDDP_SUM, 0);
VALUE(SMDDP_AVG, 1);
VALUE(SMDDP_PROD, 2);
VALUE(SMDDP_MIN, 3);
VALUE(SMDDP_MAX, 4);
VALUE(SMDDP_BAND, 5);
VALUE(SMDDP_BOR, 6);
VALUE(SMDDP_BXOR, 7);
VALUE(SMDDP_PREMUL_SUM, 8);
VALUE(SMDDP_MINLOC, 9);
VALUE(SMDDP_MAXLOC, 10);
VALUE(SMDDP_LAND, 11);
VALUE(SMDDP_LOR, 12);
VALUE(SMDDP_LXOR, 13);
VALUE(SMDDP_OP_USER, 4096);

/* smddp_thread_mode_t */
SIZE(smddp_thread_mode_t, 4);
VALUE(SMDDP_THREAD_DEFAULT, 0);
VALUE(SMDDP_THREAD_OWNED, 1);
VALUE(SMDDP_THREAD_ORDERED, 2);

/* smddp_info_kind_t */
SIZE(smddp_info_kind_t, 4);
VALUE(SMDDP_INFO_BUILD, 0);
VALUE(SMDDP_INFO_TOPOLOGY, 1);
VALUE(SMDDP_INFO_PARAMETERS, 2);
VALUE(SMDDP_INFO_LAUNCHER, 3);
VALUE(SMDDP_INFO_PROVIDERS, 4);
VALUE(SMDDP_INFO_JOB, 5);

/* smddp_info_format_t */
SIZE(smddp_info_format_t, 4);
VALUE(SMDDP_FORMAT_TEXT, 0);
VALUE(SMDDP_FORMAT_JSON, 1);

/* Constants */
VALUE(SMDDP_TIMEOUT_DEFAULT, 0);
VALUE(SMDDP_TIMEOUT_INFINITE, INT64_MAX);
VALUE(SMDDP_COLOR_NONE, -1);
VALUE(SMDDP_ANY_SOURCE, -1);
VALUE(SMDDP_ANY_TAG, -1);
VALUE(SMDDP_TAG_MAX, INT32_MAX);
VALUE(SMDDP_UNIQUE_ID_BYTES, 128);

/* Handles */
SIZE(smddp_comm_t, 8);
SIZE(smddp_request_t, 8);
SIZE(smddp_registration_t, 8);
SIZE(smddp_callback_t, 8);

/* smddp_unique_id_t */
SIZE(smddp_unique_id_t, 128);
FIELD(smddp_unique_id_t, bytes, 0, 128);

/* smddp_init_options_t */
SIZE(smddp_init_options_t, 56);
FIELD(smddp_init_options_t, struct_size, 0, 8);
FIELD(smddp_init_options_t, rank, 8, 4);
FIELD(smddp_init_options_t, size, 12, 4);
FIELD(smddp_init_options_t, port, 16, 4);
FIELD(smddp_init_options_t, thread_mode, 20, 4);
FIELD(smddp_init_options_t, address, 24, 8);
FIELD(smddp_init_options_t, job_id, 32, 8);
FIELD(smddp_init_options_t, unique_id, 40, 8);
FIELD(smddp_init_options_t, timeout_ms, 48, 8);

/* smddp_comm_options_t */
SIZE(smddp_comm_options_t, 32);
FIELD(smddp_comm_options_t, struct_size, 0, 8);
FIELD(smddp_comm_options_t, thread_mode, 8, 4);
FIELD(smddp_comm_options_t, reserved, 12, 4);
FIELD(smddp_comm_options_t, name, 16, 8);
FIELD(smddp_comm_options_t, timeout_ms, 24, 8);

/* smddp_call_options_t */
SIZE(smddp_call_options_t, 48);
FIELD(smddp_call_options_t, struct_size, 0, 8);
FIELD(smddp_call_options_t, timeout_ms, 8, 8);
FIELD(smddp_call_options_t, stream, 16, 8);
FIELD(smddp_call_options_t, priority, 24, 4);
FIELD(smddp_call_options_t, wire_dtype, 28, 4);
FIELD(smddp_call_options_t, scale, 32, 8);
FIELD(smddp_call_options_t, algorithm, 40, 8);

/* smddp_message_t */
SIZE(smddp_message_t, 24);
FIELD(smddp_message_t, struct_size, 0, 8);
FIELD(smddp_message_t, source, 8, 4);
FIELD(smddp_message_t, tag, 12, 4);
FIELD(smddp_message_t, bytes, 16, 8);

/* smddp_schedule_query_t */
SIZE(smddp_schedule_query_t, 48);
FIELD(smddp_schedule_query_t, struct_size, 0, 8);
FIELD(smddp_schedule_query_t, collective, 8, 8);
FIELD(smddp_schedule_query_t, algorithm, 16, 8);
FIELD(smddp_schedule_query_t, nodes, 24, 8);
FIELD(smddp_schedule_query_t, ranks, 32, 4);
FIELD(smddp_schedule_query_t, rank, 36, 4);
FIELD(smddp_schedule_query_t, root, 40, 4);
FIELD(smddp_schedule_query_t, servers, 44, 4);

/* Functions: a second declaration must agree with the header's. */
#ifdef __cplusplus
extern "C" {
#endif
void smddp_version(int *, int *, int *);
const char *smddp_status_string(smddp_status_t);
const char *smddp_last_error(void);
smddp_status_t smddp_dtype_size(smddp_dtype_t, size_t *);
const char *smddp_dtype_name(smddp_dtype_t);
const char *smddp_op_name(smddp_op_t);
smddp_status_t smddp_info(smddp_info_kind_t, smddp_info_format_t, char *, size_t, size_t *);
smddp_status_t smddp_schedule_describe(const smddp_schedule_query_t *, smddp_info_format_t, char *, size_t, size_t *);
smddp_status_t smddp_init(const smddp_init_options_t *, smddp_comm_t *);
smddp_status_t smddp_serve(const smddp_init_options_t *);
smddp_status_t smddp_unique_id_create(smddp_unique_id_t *);
smddp_status_t smddp_finalize(smddp_comm_t);
smddp_status_t smddp_comm_world(smddp_comm_t *);
smddp_status_t smddp_comm_rank(smddp_comm_t, int *);
smddp_status_t smddp_comm_size(smddp_comm_t, int *);
smddp_status_t smddp_comm_local_rank(smddp_comm_t, int *);
smddp_status_t smddp_comm_local_size(smddp_comm_t, int *);
smddp_status_t smddp_comm_split(smddp_comm_t, int, int, const smddp_comm_options_t *, smddp_comm_t *);
smddp_status_t smddp_comm_dup(smddp_comm_t, const smddp_comm_options_t *, smddp_comm_t *);
smddp_status_t smddp_comm_free(smddp_comm_t);
smddp_status_t smddp_comm_abort(smddp_comm_t, const char *);
smddp_status_t smddp_comm_status(smddp_comm_t);
smddp_status_t smddp_comm_set_timeout(smddp_comm_t, int64_t);
smddp_status_t smddp_comm_set_name(smddp_comm_t, const char *);
smddp_status_t smddp_comm_get_name(smddp_comm_t, const char **);
smddp_status_t smddp_comm_counter(smddp_comm_t, const char *, uint64_t *);
smddp_status_t smddp_comm_transport(smddp_comm_t, int, const char **);
smddp_status_t smddp_allreduce(const void *, void *, size_t, smddp_dtype_t, smddp_op_t, smddp_comm_t,
                               const smddp_call_options_t *);
smddp_status_t smddp_allreduce_async(const void *, void *, size_t, smddp_dtype_t, smddp_op_t, smddp_comm_t,
                                     const smddp_call_options_t *, smddp_request_t *);
smddp_status_t smddp_broadcast(void *, size_t, smddp_dtype_t, int, smddp_comm_t, const smddp_call_options_t *);
smddp_status_t smddp_broadcast_async(void *, size_t, smddp_dtype_t, int, smddp_comm_t, const smddp_call_options_t *,
                                     smddp_request_t *);
smddp_status_t smddp_reduce(const void *, void *, size_t, smddp_dtype_t, smddp_op_t, int, smddp_comm_t,
                            const smddp_call_options_t *);
smddp_status_t smddp_reduce_async(const void *, void *, size_t, smddp_dtype_t, smddp_op_t, int, smddp_comm_t,
                                  const smddp_call_options_t *, smddp_request_t *);
smddp_status_t smddp_allgather(const void *, void *, size_t, smddp_dtype_t, smddp_comm_t, const smddp_call_options_t *);
smddp_status_t smddp_allgather_async(const void *, void *, size_t, smddp_dtype_t, smddp_comm_t,
                                     const smddp_call_options_t *, smddp_request_t *);
smddp_status_t smddp_reduce_scatter(const void *, void *, size_t, smddp_dtype_t, smddp_op_t, smddp_comm_t,
                                    const smddp_call_options_t *);
smddp_status_t smddp_reduce_scatter_async(const void *, void *, size_t, smddp_dtype_t, smddp_op_t, smddp_comm_t,
                                          const smddp_call_options_t *, smddp_request_t *);
smddp_status_t smddp_alltoall(const void *, void *, size_t, smddp_dtype_t, smddp_comm_t, const smddp_call_options_t *);
smddp_status_t smddp_alltoall_async(const void *, void *, size_t, smddp_dtype_t, smddp_comm_t,
                                    const smddp_call_options_t *, smddp_request_t *);
smddp_status_t smddp_gather(const void *, void *, size_t, smddp_dtype_t, int, smddp_comm_t, const smddp_call_options_t *);
smddp_status_t smddp_gather_async(const void *, void *, size_t, smddp_dtype_t, int, smddp_comm_t,
                                  const smddp_call_options_t *, smddp_request_t *);
smddp_status_t smddp_scatter(const void *, void *, size_t, smddp_dtype_t, int, smddp_comm_t, const smddp_call_options_t *);
smddp_status_t smddp_scatter_async(const void *, void *, size_t, smddp_dtype_t, int, smddp_comm_t,
                                   const smddp_call_options_t *, smddp_request_t *);
smddp_status_t smddp_barrier(smddp_comm_t, const smddp_call_options_t *);
smddp_status_t smddp_barrier_async(smddp_comm_t, const smddp_call_options_t *, smddp_request_t *);
smddp_status_t smddp_send(const void *, size_t, smddp_dtype_t, int, int, smddp_comm_t, const smddp_call_options_t *);
smddp_status_t smddp_send_async(const void *, size_t, smddp_dtype_t, int, int, smddp_comm_t,
                                const smddp_call_options_t *, smddp_request_t *);
smddp_status_t smddp_recv(void *, size_t, smddp_dtype_t, int, int, smddp_comm_t, const smddp_call_options_t *,
                          smddp_message_t *);
smddp_status_t smddp_recv_async(void *, size_t, smddp_dtype_t, int, int, smddp_comm_t, const smddp_call_options_t *,
                                smddp_request_t *);
smddp_status_t smddp_test(smddp_request_t, int *);
smddp_status_t smddp_wait(smddp_request_t, int64_t);
smddp_status_t smddp_wait_all(size_t, const smddp_request_t *, int64_t);
smddp_status_t smddp_request_free(smddp_request_t);
smddp_status_t smddp_request_set_callback(smddp_request_t, smddp_callback_t, void *);
const char *smddp_request_error(smddp_request_t);
smddp_status_t smddp_request_message(smddp_request_t, smddp_message_t *);
smddp_status_t smddp_alloc(smddp_comm_t, size_t, void **);
smddp_status_t smddp_free(void *);
smddp_status_t smddp_register(smddp_comm_t, void *, size_t, smddp_registration_t *);
smddp_status_t smddp_deregister(smddp_comm_t, smddp_registration_t);
#ifdef __cplusplus
}
#endif
