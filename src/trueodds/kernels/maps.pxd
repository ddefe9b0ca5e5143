cdef double minus_log_rest(double p) noexcept nogil
cdef Py_ssize_t count_up_to(const double[::1] edges, Py_ssize_t n, double s) noexcept nogil
cdef double log_or_infinity(double x) noexcept nogil
cdef double sigmoid(double eta) noexcept nogil


cdef double _largest(const double[:, ::1] weights) noexcept nogil
cpdef double deep_enough(const double[:, ::1] weights) noexcept nogil
cpdef double far_enough(const double[:, ::1] weights) noexcept nogil
cdef void softmax_row(double[:, ::1] rows, Py_ssize_t i) noexcept nogil
