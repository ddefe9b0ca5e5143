cpdef double log_gamma(double x) noexcept nogil
