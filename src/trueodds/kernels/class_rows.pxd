cdef double _largest(const double[:, ::1] weights) noexcept nogil
cpdef double deep_enough(const double[:, ::1] weights) noexcept nogil
cpdef double far_enough(const double[:, ::1] weights) noexcept nogil
cdef void softmax_row(double[:, ::1] rows, Py_ssize_t i) noexcept nogil
