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
  '({{lisp:program+procedure+control}}))

(defconst sial--types
  '({{lisp:type+storage}}))

(defconst sial--statements
  '({{lisp:statement+root}}))

(defconst sial--reserved
  '({{lisp:reserved}}))

(defconst sial-super-instructions
  '({{lisp:super}})
  "Super instructions of sialx.")

(defconst sial-font-lock-keywords
  `(("\\_<\\(?:end\\)?\\(?:sial\\|proc\\)\\_>[ \t]+\\(\\(?:\\sw\\|\\s_\\)+\\)" 1 font-lock-function-name-face)
    ("\\_<call\\_>[ \t]+\\(\\(?:\\sw\\|\\s_\\)+\\)" 1 font-lock-function-name-face)
    (,(concat "\\_<\\(?:execute\\|special\\)\\_>[ \t]+" (regexp-opt sial-super-instructions t) "\\_>") 1 font-lock-builtin-face)
    ("\\_<\\(?:execute\\|special\\)\\_>[ \t]+\\(\\(?:\\sw\\|\\s_\\)+\\)" 1 font-lock-function-name-face)
    ("\\_<print\\(?:ln\\)?\\_>[ \t]+\\({{alternatives:inspection}}\\)[ \t]*(" 1 font-lock-builtin-face)
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
