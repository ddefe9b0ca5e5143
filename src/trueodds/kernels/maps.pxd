cdef double minus_log_rest(double p) noexcept nogil
cdef Py_ssize_t count_up_to(const double[::1] edges, Py_ssize_t n, double s) noexcept nogil
cdef double log_or_infinity(double x) noexcept nogil
