cdef extern from "elementary.h" nogil:
    void exp_of_each(double *x, Py_ssize_t n) noexcept
    void log_of_each(double *x, Py_ssize_t n) noexcept
    void log_odds_of_each(const double *p, double *z, Py_ssize_t n) noexcept
    void sigmoid_of_each(double *z, Py_ssize_t n) noexcept
    int bin_of_each(const double *x, double n_bins, int *bin, Py_ssize_t n) noexcept
    void add_totals(const double *u, const double *v, Py_ssize_t n, double *totals) noexcept
    void add_moments(
        const double *x, double origin, const double *u, const double *v, Py_ssize_t n,
        double *moments) noexcept


cpdef void exp_in_place(double[::1] x) noexcept nogil
cpdef void log_in_place(double[::1] x) noexcept nogil
cpdef void find_log_odds(const double[::1] p, double[::1] z) noexcept nogil
cpdef void sigmoid_in_place(double[::1] z) noexcept nogil
cpdef void normal_cdf_in_place(double[::1] x) noexcept nogil
cpdef int uniform_bins(const double[::1] x, double n_bins, int[::1] bin_of) noexcept nogil
cpdef void add_column_moments(
    const double[:, ::1] columns, Py_ssize_t begin, const double[::1] u, const double[::1] v,
    Py_ssize_t n, const double[::1] origins, double[:, ::1] sums) noexcept nogil
