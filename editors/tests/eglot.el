;;; Drives `pintle lsp` from Emacs in batch mode, through eglot: emacs --batch -l eglot.el  -*- lexical-binding: t -*-

(require 'package)
(package-initialize)
(require 'eglot)
(require 'flymake)
(require 'cl-lib)

(define-derived-mode helm-template-mode prog-mode "Helm")
(add-to-list 'eglot-server-programs `(helm-template-mode . (,(getenv "PINTLE") "lsp")))
(setq eglot-sync-connect 20 eglot-connect-timeout 20 eglot-confirm-server-initiated-edits nil
      eglot-send-changes-idle-time 0.01 make-backup-files nil create-lockfiles nil)

(defvar pintle-passed nil)

(defun pintle-check (condition what)
  (unless condition (error "%s" what))
  (push what pintle-passed))

(defun pintle-wait (what condition)
  "Wait until CONDITION holds."
  (let ((end (+ (float-time) 20)))
    (while (and (not (funcall condition)) (< (float-time) end))
      (accept-process-output nil 0.05))
    (pintle-check (funcall condition) what)))

(defun pintle-behind (text)
  (goto-char (point-min))
  (search-forward text))

(defun pintle-ask (method)
  (jsonrpc-request (eglot--current-server-or-lose) method (eglot--TextDocumentPositionParams)))

(defun pintle-run ()
  (let ((workspace (file-name-as-directory (getenv "PINTLE_WORKSPACE"))))
    ;; eglot asks project.el for the root.
    (add-hook 'project-find-functions (lambda (_) (cons 'transient workspace)))
    (find-file (concat workspace "web/templates/deployment.yaml"))
    (helm-template-mode)
    (apply #'eglot--connect (eglot--guess-contact))
    (pintle-check (eglot-managed-p) "the server is connected")

    (pintle-behind ".Values.image.")
    (let* ((items (plist-get (pintle-ask :textDocument/completion) :items))
           (labels (mapcar (lambda (item) (plist-get item :label)) items)))
      (pintle-check (and (member "tag" labels) (member "repository" labels)) "the keys of a value are completed"))
    (let ((hover (pintle-ask :textDocument/hover)))
      (pintle-check (string-match-p "nginx" (plist-get (plist-get hover :contents) :value)) "a hover shows the value"))

    (pintle-behind "include \"web.")
    (let ((found (xref-backend-definitions 'eglot (xref-backend-identifier-at-point 'eglot))))
      (pintle-check (= 1 (length found)) "a definition is found")
      (pintle-check (string-match-p "_helpers.tpl" (format "%S" (car found))) "it is the right one"))

    ;; eglot asks before it changes files that are not visited.
    (save-window-excursion (find-file-noselect (concat workspace "web/values.yaml")))
    (pintle-behind ".Values.repl")
    (eglot-rename "count")
    (pintle-check (string-match-p "\\.Values\\.count" (buffer-string)) "the template has the new name")
    (with-current-buffer (find-file-noselect (concat workspace "web/values.yaml"))
      (pintle-check (string-match-p "^count: 2" (buffer-string)) "the values have it, too"))

    (goto-char (point-max))
    (insert "{{ if .Values.count }}\n")
    (eglot--signal-textDocument/didChange)
    (pintle-wait "an error of syntax is shown"
                 (lambda () (cl-some (lambda (one) (string-match-p "end" (flymake-diagnostic-text one)))
                                     (flymake-diagnostics))))
    (eglot-shutdown (eglot--current-server-or-lose))))

(let ((problem (condition-case caught (progn (pintle-run) nil) (error caught))))
  (with-temp-file (getenv "PINTLE_REPORT")
    (insert (mapconcat #'identity (reverse pintle-passed) "\n") "\n"
            (if problem (format "FAILED: %S" problem) "OK") "\n"))
  (set-buffer-modified-p nil)
  (kill-emacs (if problem 1 0)))
