// SPDX-License-Identifier: BSD-3-Clause
#include "types.h"

#include <ATen/ATen.h>
#include <mpix.h>

namespace weft_torch
{

using c10::ScalarType;
using c10d::ReduceOp;

struct NumberType {
    ScalarType dtype;
    MPI_Datatype datatype;
    int64_t per_element;
};

static const NumberType *number_type(ScalarType dtype)
{
    static const NumberType types[] = {
        {ScalarType::Bool, MPI_C_BOOL, 1},
        {ScalarType::Byte, MPI_UINT8_T, 1},
        {ScalarType::Char, MPI_INT8_T, 1},
        {ScalarType::Short, MPI_INT16_T, 1},
        {ScalarType::Int, MPI_INT32_T, 1},
        {ScalarType::Long, MPI_INT64_T, 1},
        {ScalarType::UInt16, MPI_UINT16_T, 1},
        {ScalarType::UInt32, MPI_UINT32_T, 1},
        {ScalarType::UInt64, MPI_UINT64_T, 1},
        {ScalarType::Float8_e4m3fn, MPIX_FLOAT8_E4M3, 1},
        {ScalarType::Float8_e5m2, MPIX_FLOAT8_E5M2, 1},
        {ScalarType::Half, MPIX_C_FLOAT16, 1},
        {ScalarType::BFloat16, MPIX_BFLOAT16, 1},
        {ScalarType::Float, MPI_FLOAT, 1},
        {ScalarType::Double, MPI_DOUBLE, 1},
        {ScalarType::ComplexHalf, MPIX_C_FLOAT16, 2},
        {ScalarType::ComplexFloat, MPI_C_FLOAT_COMPLEX, 1},
        {ScalarType::ComplexDouble, MPI_C_DOUBLE_COMPLEX, 1},
    };
    for (const NumberType &type : types) {
        if (type.dtype == dtype)
            return &type;
    }
    return nullptr;
}

struct OpRow {
    ReduceOp::RedOpType kind;
    const char *name;
    MPI_Op op;
    MPI_Op bool_op; // what it is for truth values, as elsewhere in torch: 1 + 1 is true
};

static const OpRow *op_row(ReduceOp::RedOpType kind)
{
    static const OpRow rows[] = {
        {ReduceOp::SUM, "sum", MPI_SUM, MPI_LOR},
        {ReduceOp::AVG, "avg", MPI_SUM, MPI_OP_NULL},
        {ReduceOp::PREMUL_SUM, "premul_sum", MPI_SUM, MPI_OP_NULL},
        {ReduceOp::PRODUCT, "product", MPI_PROD, MPI_LAND},
        {ReduceOp::MIN, "min", MPI_MIN, MPI_LAND},
        {ReduceOp::MAX, "max", MPI_MAX, MPI_LOR},
        {ReduceOp::BAND, "band", MPI_BAND, MPI_LAND},
        {ReduceOp::BOR, "bor", MPI_BOR, MPI_LOR},
        {ReduceOp::BXOR, "bxor", MPI_BXOR, MPI_LXOR},
    };
    for (const OpRow &row : rows) {
        if (row.kind == kind)
            return &row;
    }
    return nullptr;
}

static void check_kind(const OpRow &row, ScalarType dtype, const char *operation)
{
    bool is_bitwise = row.op == MPI_BAND || row.op == MPI_BOR || row.op == MPI_BXOR;
    TORCH_CHECK(!is_bitwise || c10::isIntegralType(dtype, /*includeBool=*/true),
                "weft: ", operation, ": Cannot use ReduceOp.",
                row.kind == ReduceOp::BAND  ? "BAND"
                : row.kind == ReduceOp::BOR ? "BOR"
                                            : "BXOR",
                " with non-integral dtype ", dtype);
    bool is_ordered = row.op == MPI_MIN || row.op == MPI_MAX;
    TORCH_CHECK(!is_ordered || !c10::isComplexType(dtype), "weft: ", operation,
                ": complex numbers (", dtype, ") have no order, so there is no ReduceOp.",
                row.kind == ReduceOp::MIN ? "MIN" : "MAX");
    TORCH_CHECK(row.op != MPI_PROD || dtype != ScalarType::ComplexHalf, "weft: ", operation,
                ": there is no product of ComplexHalf; use ComplexFloat");
}

static at::Tensor factor_of(const ReduceOp &op)
{
    auto *factor = dynamic_cast<c10d::NCCLPreMulSumSupplement *>(op.supplement_.get());
    TORCH_CHECK(factor != nullptr, "weft: ReduceOp.PREMUL_SUM has no factor");
    if (factor->tensor_factor.defined())
        return factor->tensor_factor;
    return at::scalar_tensor(factor->double_factor, at::dtype(at::kDouble));
}

Reduction reduction_of(const ReduceOp &op, ScalarType dtype, int size, const char *operation)
{
    const NumberType *type = number_type(dtype);
    TORCH_CHECK(type != nullptr, "weft: ", operation, ": tensors of ", dtype,
                " can be moved but not reduced; convert them to a wider type first");
    const OpRow *row = op_row(op.op_);
    TORCH_CHECK(row != nullptr, "weft: ", operation, ": unknown reduction ",
                static_cast<int>(op.op_));
    check_kind(*row, dtype, operation);
    Reduction reduction{type->datatype, type->per_element, row->op, row->name, {}, 1};
    if (dtype == ScalarType::Bool) {
        TORCH_CHECK(row->bool_op != MPI_OP_NULL, "weft: ", operation, ": no ", row->name,
                    " of Bool tensors");
        reduction.op = row->bool_op;
    }
    if (row->kind == ReduceOp::AVG)
        reduction.divide_by = size;
    if (row->kind == ReduceOp::PREMUL_SUM)
        reduction.premultiply = factor_of(op);
    return reduction;
}

at::Tensor premultiplied(const Reduction &reduction, const at::Tensor &tensor)
{
    if (!reduction.premultiply.defined())
        return tensor;
    at::Tensor factor = reduction.premultiply.reshape({}).to(tensor.device());
    // torch does not multiply floats of 8 bits
    bool is_float8 = c10::isFloat8Type(tensor.scalar_type());
    return at::mul(is_float8 ? tensor.to(at::kFloat) : tensor, factor).to(tensor.scalar_type());
}

// torch does not divide these types.
static bool divide_in_another_type(const at::Tensor &result, int64_t divisor)
{
    switch (result.scalar_type()) {
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e5m2:
        result.copy_(result.to(at::kFloat).div_(divisor));
        return true;
    case ScalarType::UInt16:
    case ScalarType::UInt32:
        result.copy_(result.to(at::kLong).div_(divisor, "trunc"));
        return true;
    case ScalarType::UInt64: {
        at::Tensor host = result.cpu(); // itself, if it is on the host
        auto *numbers = host.mutable_data_ptr<uint64_t>();
        for (int64_t i = 0; i < host.numel(); i++)
            numbers[i] /= static_cast<uint64_t>(divisor);
        if (!host.is_same(result))
            result.copy_(host);
        return true;
    }
    default:
        return false;
    }
}

void finish_reduction(const Reduction &reduction, const at::Tensor &result)
{
    if (reduction.divide_by == 1 || divide_in_another_type(result, reduction.divide_by))
        return;
    if (c10::isIntegralType(result.scalar_type(), false))
        result.div_(reduction.divide_by, "trunc");
    else
        result.div_(reduction.divide_by);
}

bool is_plain(const at::Tensor &tensor)
{
    return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

at::Tensor to_plain(const at::Tensor &tensor)
{
    return is_plain(tensor) ? tensor : tensor.resolve_conj().resolve_neg().contiguous();
}

} // namespace weft_torch
