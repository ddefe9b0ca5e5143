cdef double minus_log_complement(double p) noexcept nogil
cdef Py_ssize_t searchsorted(const double[::1] edges, Py_ssize_t n, double s) noexcept nogil
cdef double log_or_minus_infinity(double x) noexcept nogil
