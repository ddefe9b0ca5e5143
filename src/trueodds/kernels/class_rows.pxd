cpdef double deep_enough(const double[:, ::1] weights) noexcept nogil
