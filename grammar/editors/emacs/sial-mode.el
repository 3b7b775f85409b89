;;; sial-mode.el --- Major mode for SIAL, the language of the Super Instruction Architecture  -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "26.1"))
;; Keywords: languages
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Highlighting, indentation as `sialc format' does it, and the language server `sialc lsp' through Eglot.
;; Written by grammar/editors/generate_editors.py: change templates/sial-mode.el there.

;;; Code:

(require 'regexp-opt)

(defgroup sial nil
  "SIAL programs."
  :group 'languages)

(defcustom sial-indent-offset 2
  "Columns of one level of a block."
  :type 'integer
  :safe #'integerp)

(defcustom sial-program "sialc"
  "The compiler: it formats, and serves Eglot as its language server."
  :type 'string)

(defcustom sial-format-on-save nil
  "Whether saving formats the buffer first."
  :type 'boolean
  :safe #'booleanp)

(eval-and-compile
  (defun sial--words (words)
    "Expression for WORDS that are whole symbols."
    (concat "\\_<" (regexp-opt words t) "\\_>")))

(defconst sial--control
  '("sial" "endsial" "import" "proc" "endproc" "call" "return" "stop" "section" "endsection" "do" "enddo" "in"
    "pardo" "endpardo" "where" "if" "else" "endif" "exit" "gpu_on" "gpu_off"))

(defconst sial--types
  '("scalar" "int" "subindex" "of" "index" "aoindex" "moindex" "moaindex" "mobindex" "laindex" "special" "static"
    "temp" "local" "distributed" "served" "predefined" "contiguous" "sparse"))

(defconst sial--statements
  '("create" "delete" "destroy" "allocate" "deallocate" "get" "put" "request" "prepare" "collective" "execute"
    "sip_barrier" "server_barrier" "set_persistent" "restore_persistent" "assert_same" "broadcast_from" "print"
    "println" "gpu_allocate" "gpu_free" "gpu_put" "gpu_get" "sqrt"))

(defconst sial--reserved
  '("cycle" "prequest" "print_index" "print_scalar" "print_int"))

(defconst sial-super-instructions
  '("a4_david_damp_factor" "a4_dscale" "a4_get_init_occupation" "a4_return_occupation" "a4_scf_atom"
    "anti_symm_o" "anti_symm_v" "aoladder_contraction" "check_block_number_calculation" "check_dconf"
    "cis_unit_guess" "compute_diis" "compute_dipole_integrals" "compute_int_scratchmem"
    "compute_int_scratchmem_lowmem" "compute_integral_batch" "compute_nn_repulsion" "compute_pair_nn"
    "compute_ubatch1" "compute_ubatch2" "compute_ubatch4" "compute_ubatch6" "compute_ubatch7" "compute_ubatch8"
    "disable_all_rank_print" "disable_debug_print" "drop_core_in_sip" "eigen_calc" "eigen_calc_sqr_inv"
    "enable_all_rank_print" "enable_debug_print" "energy_denominator_rhf" "energy_denominator_uhf"
    "energy_numerator_rhf" "energy_ty_denominator_rhf" "fill_block_cyclic" "fill_block_sequential"
    "frag_index_range" "free_atom_density" "gen_eigen_calc" "get_and_print_int_array_dummy"
    "get_and_print_mpi_rank" "get_and_print_scalar_array_dummy" "get_first_block_element" "get_my_rank"
    "get_scratch_array_dummy" "invert_diagonal" "invert_diagonal_asym" "list_block_map" "list_blocks_with_number"
    "moi_nn_repulsion" "one_arg_no_op" "place_scratch" "print_block" "print_iteration" "print_static_array"
    "read_block_from_text_file" "remove_diagonal" "return_1el_ecpints" "return_diagonal"
    "return_diagonal_elements" "return_h1" "return_h1_moi" "return_h1frag" "return_ovl" "return_ovl_moi"
    "return_pairs" "return_sval" "return_vpq" "scf_atom_lowmem" "set_flags2" "set_frag" "set_ijk_aaa"
    "set_ijk_aab" "stripi" "swap_blocks")
  "Super instructions of sialx.")

(defconst sial-font-lock-keywords
  `(("\\_<\\(?:end\\)?\\(?:sial\\|proc\\)\\_>[ \t]+\\(\\(?:\\sw\\|\\s_\\)+\\)" 1 font-lock-function-name-face)
    ("\\_<call\\_>[ \t]+\\(\\(?:\\sw\\|\\s_\\)+\\)" 1 font-lock-function-name-face)
    (,(concat "\\_<\\(?:execute\\|special\\)\\_>[ \t]+" (regexp-opt sial-super-instructions t) "\\_>") 1 font-lock-builtin-face)
    ("\\_<\\(?:execute\\|special\\)\\_>[ \t]+\\(\\(?:\\sw\\|\\s_\\)+\\)" 1 font-lock-function-name-face)
    ("\\_<print\\(?:ln\\)?\\_>[ \t]+\\(elements|norm|max\\)[ \t]*(" 1 font-lock-builtin-face)
    (,(sial--words sial--control) 1 font-lock-keyword-face)
    (,(sial--words sial--types) 1 font-lock-type-face)
    (,(sial--words sial--statements) 1 font-lock-keyword-face)
    (,(sial--words sial--reserved) 1 font-lock-warning-face)
    ("\\_<[0-9]+\\(?:\\.[0-9]*\\)?\\_>\\|\\.[0-9]+\\_>" 0 font-lock-constant-face))
  "Highlighting of SIAL.")

(defvar sial-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?# "<" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?. "_" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?\\ "." table)
    (dolist (sign '(?+ ?- ?* ?/ ?^ ?< ?> ?= ?!))
      (modify-syntax-entry sign "." table))
    table))

(defconst sial--opens "\\(?:proc\\|do\\|pardo\\|if\\|else\\|section\\|gpu_on\\)\\_>")
(defconst sial--closes "\\(?:else\\|endif\\|enddo\\|endpardo\\|endproc\\|endsection\\|gpu_off\\)\\_>")
(defconst sial--margin "\\(?:sial\\|endsial\\|import\\|proc\\|endproc\\)\\_>")

(defun sial--indentation ()
  "Column for the line at point."
  (let ((case-fold-search t))
    (save-excursion
      (beginning-of-line)
      (skip-chars-forward " \t")
      (let ((closes (looking-at-p sial--closes)))
        (if (looking-at-p sial--margin)
            0
          (forward-line 0)
          (skip-chars-backward " \t\n\r")
          (if (bobp)
              0
            (back-to-indentation)
            (max 0 (+ (current-column)
                      (if (looking-at-p sial--opens) sial-indent-offset 0)
                      (if closes (- sial-indent-offset) 0)))))))))

(defun sial-indent-line ()
  "Indent the line as `sialc format' does."
  (interactive)
  (let ((column (sial--indentation)))
    (if (<= (current-column) (current-indentation))
        (indent-line-to column)
      (save-excursion (indent-line-to column)))))

(defun sial-format-buffer ()
  "Format the buffer with `sialc format'.  With syntax errors it stays as it is."
  (interactive)
  (let ((result (generate-new-buffer " *sial format*"))
        (errors (make-temp-file "sial")))
    (unwind-protect
        (if (zerop (call-process-region nil nil sial-program nil (list result errors) nil "format" "-"))
            (replace-buffer-contents result)
          (message "%s" (with-temp-buffer
                          (insert-file-contents errors)
                          (buffer-substring (point-min) (line-end-position)))))
      (kill-buffer result)
      (delete-file errors))))

(defun sial--format-before-save ()
  "Format where the user asked for it."
  (when sial-format-on-save (sial-format-buffer)))

(defvar sial-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-f") #'sial-format-buffer)
    map))

;;;###autoload
(define-derived-mode sial-mode prog-mode "SIAL"
  "Major mode for SIAL programs."
  (setq-local comment-start "# ")
  (setq-local comment-start-skip "#+[ \t]*")
  (setq-local comment-end "")
  (setq-local indent-tabs-mode nil)
  (setq-local indent-line-function #'sial-indent-line)
  (setq-local electric-indent-inhibit nil)
  (setq-local font-lock-defaults '(sial-font-lock-keywords nil t))
  (setq-local imenu-case-fold-search t)
  (setq-local imenu-generic-expression '((nil "^[ \t]*proc[ \t]+\\(\\(?:\\sw\\|\\s_\\)+\\)" 1)))
  (add-hook 'before-save-hook #'sial--format-before-save nil t))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.sialx\\'" . sial-mode))

;; M-x eglot then starts the language server; (add-hook 'sial-mode-hook #'eglot-ensure) does it always.
(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs `(sial-mode . (,sial-program "lsp"))))

(provide 'sial-mode)
;;; sial-mode.el ends here
