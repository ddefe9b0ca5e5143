cdef extern from "elementary.h" nogil:
    void exp_of_each(double *x, Py_ssize_t n) noexcept
    void log_of_each(double *x, Py_ssize_t n) noexcept
    int bin_of_each(const double *x, double n_bins, int *bin, Py_ssize_t n) noexcept


cpdef void exp_in_place(double[::1] x) noexcept nogil
cpdef void log_in_place(double[::1] x) noexcept nogil
cpdef int uniform_bins(const double[::1] x, double n_bins, int[::1] bin_of) noexcept nogil
