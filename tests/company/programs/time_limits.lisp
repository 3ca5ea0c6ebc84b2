;;; SPDX-License-Identifier: MIT
;;;
;;; A Lisp's time limit leaves a signal handler by its own unwinding, in the middle of a write to a socket.
;;; The lock of the library stayed behind: another thread's write, and run-program, waited for ever; in
;;; coalesce the last line was lost.
;;;
;;;   sbcl --script time_limits.lisp PORT ROUNDS

(require :sb-bsd-sockets)

(defvar *words* (cdr sb-ext:*posix-argv*))
(defvar *port* (parse-integer (first *words*)))
(defvar *rounds* (parse-integer (second *words*)))
(defvar *socket* (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp))
(sb-bsd-sockets:socket-connect *socket* #(127 0 0 1) *port*)
(defvar *fd* (sb-bsd-sockets:socket-file-descriptor *socket*))
(defvar *over* nil)
(defvar *others* 0)

;;; Foreign calls, as a stream makes them, without a buffer of its own that a limit would tear.
(defun put (line)
  (sb-sys:with-pinned-objects (line)
    (sb-unix:unix-write *fd* line 0 (length line))))

(defun line (text)
  (coerce (map 'vector #'char-code text) '(simple-array (unsigned-byte 8) (*))))

(defun limited (seconds)
  (handler-case
      (sb-ext:with-timeout seconds
        (loop (put (line "head")) (put (line (format nil "body~%")))))
    (sb-ext:timeout () nil)))

(defvar *other*
  (sb-thread:make-thread
   (lambda ()
     (loop until *over*
           do (put (line "other")) (incf *others*) (sleep 0.002)))))

(dotimes (i *rounds*)
  (limited (+ 0.0002 (* 0.00001 (random 150)))))

(let ((before *others*))
  (sleep 1)
  (unless (> *others* before)
    (format t "the other thread waits~%")
    (sb-ext:exit :code 3 :abort t)))
(setf *over* t)
(sb-thread:join-thread *other*)
(sb-ext:run-program "/bin/true" nil)
(put (line (format nil "last~%")))
(sleep 1)
(format t "done~%")
(finish-output)
(sb-ext:exit :code 0 :abort t)
