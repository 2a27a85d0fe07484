#include "control/report.hpp"

#include "bootstrap/bytes.hpp"

namespace smddp::control {
namespace {

constexpr size_t kMostText = 1024;

}  // namespace

std::string encode(const Report& report) {
  bootstrap::ByteWriter writer;
  writer.number(static_cast<uint8_t>(report.known));
  writer.number(report.begun);
  writer.number(report.ended);
  writer.text(std::string_view(report.death).substr(0, kMostText));
  writer.number(static_cast<uint32_t>(report.records.size()));
  for (const Record& record : report.records) {
    writer.number(record.sequence);
    writer.number(record.note);
    writer.number(static_cast<uint8_t>(record.call.collective));
    writer.number(static_cast<uint32_t>(record.call.dtype));
    writer.number(static_cast<uint32_t>(record.call.op));
    writer.number(static_cast<int32_t>(record.call.root));
    writer.number(static_cast<uint64_t>(record.call.count));
    writer.text(record.algorithm);
    writer.number(record.segment_elements);
  }
  return writer.take();
}

bool decode(std::string_view bytes, Report& report) {
  bootstrap::ByteReader reader(bytes);
  report.answered = true;
  report.known = reader.number<uint8_t>() != 0;
  report.begun = reader.number<uint32_t>();
  report.ended = reader.number<uint32_t>();
  report.death = reader.text(kMostText);
  const auto count = reader.number<uint32_t>();
  if (count > OperationRing::kOperations) return false;
  report.records.resize(count);
  for (Record& record : report.records) {
    record.sequence = reader.number<uint32_t>();
    record.note = reader.number<uint32_t>();
    record.call.collective = static_cast<Collective>(reader.number<uint8_t>());
    record.call.dtype = static_cast<smddp_dtype_t>(reader.number<uint32_t>());
    record.call.op = static_cast<smddp_op_t>(reader.number<uint32_t>());
    record.call.root = reader.number<int32_t>();
    record.call.count = reader.number<uint64_t>();
    record.algorithm = reader.text(64);
    record.segment_elements = reader.number<uint64_t>();
  }
  return reader.complete();
}

}  // namespace smddp::control
