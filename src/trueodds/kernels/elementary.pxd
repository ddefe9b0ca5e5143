cdef extern from "elementary.h" nogil:
    void exp_of_each(double *x, Py_ssize_t n) noexcept
    void log_of_each(double *x, Py_ssize_t n) noexcept


cpdef void exp_in_place(double[::1] x) noexcept nogil
cpdef void log_in_place(double[::1] x) noexcept nogil
