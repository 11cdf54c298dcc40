package authorize

import (
	"crypto/rand"
	_ "embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/application"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// view is what the page shows: a message, the sign-in, or the question.
type view struct {
	application.Page
	Providers []application.Provider // of sign-in, besides the password
	Message   string
}

// bindingCookie binds a request to the browser that began it.
const bindingCookie = "magpie_authorize"

// signOnCookie has the binding of a sign-in at a provider.
const signOnCookie = "magpie_authorize_sign_on"

// continueParameter has the token of a request that comes back from the provider.
const continueParameter = "continue"

// authorize serves the page: a sign-in, then the question whether the program may
// search and read as the person.
func (h *Handler) authorize(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	switch r.Method {
	case http.MethodGet:
		if r.URL.Query().Has(continueParameter) {
			h.resume(w, r)
			return
		}
		h.begin(w, r)
	case http.MethodPost:
		h.answer(w, r)
	default:
		header.Set("Allow", "GET, POST")
		h.show(w, http.StatusMethodNotAllowed, view{Message: "This page is opened with GET."})
	}
}

func (h *Handler) begin(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	for name, values := range query {
		if len(values) > 1 && name != "resource" {
			h.show(w, http.StatusBadRequest, view{Message: "The parameter " + name + " is repeated."})
			return
		}
	}
	binding := rand.Text()
	if cookie, err := r.Cookie(bindingCookie); err == nil && len(cookie.Value) == len(binding) {
		binding = cookie.Value // another tab may be open
	}
	page, redirect, err := h.opt.Server.Begin(r.Context(), application.Request{
		ResponseType: query.Get("response_type"), ClientID: query.Get("client_id"), RedirectURI: query.Get("redirect_uri"), State: query.Get("state"),
		CodeChallenge: query.Get("code_challenge"), CodeChallengeMethod: query.Get("code_challenge_method"), Scope: query.Get("scope"), Resource: query.Get("resource"),
		Device: query.Get("device_name"),
	}, binding)
	switch {
	case redirect != "":
		http.Redirect(w, r, redirect, http.StatusFound)
		return
	case err != nil:
		h.showError(w, r, application.Page{}, err)
		return
	}
	h.setCookie(w, bindingCookie, binding)
	h.show(w, http.StatusOK, view{Page: page})
}

func (h *Handler) setCookie(w http.ResponseWriter, name, value string) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure depends on the address of the service
		Name: name, Value: value, Path: AuthorizePath, MaxAge: 3600, HttpOnly: true, Secure: h.secure, SameSite: http.SameSiteLaxMode,
	})
}

func cookie(r *http.Request, name string) string {
	found, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return found.Value
}

// signOn sends the browser to a provider.
func (h *Handler) signOn(w http.ResponseWriter, r *http.Request, provider, token string) {
	address, binding, err := h.opt.Server.StartSignOn(r.Context(), provider, token, cookie(r, bindingCookie), func(token string) string {
		return h.opt.Server.Issuer() + AuthorizePath + "?" + url.Values{continueParameter: {token}}.Encode()
	})
	if err != nil {
		h.showError(w, r, application.Page{}, err)
		return
	}
	h.setCookie(w, signOnCookie, binding)
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// resume continues when the browser comes back from the provider. What the provider
// said of a failure is not shown: anybody could have written it into the address.
func (h *Handler) resume(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	page, err := h.opt.Server.EndSignOn(r.Context(), query.Get(continueParameter), cookie(r, bindingCookie), query.Get("code"), cookie(r, signOnCookie))
	h.ask(w, r, page, err)
}

// answer handles the sign-in and the decision.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request) {
	form, ok := h.form(w, r)
	if !ok {
		return
	}
	binding, token := cookie(r, bindingCookie), form.Get("token")
	if decision := form.Get("decision"); decision != "" {
		redirect, err := h.opt.Server.Decide(r.Context(), token, binding, parseWorkspace(form.Get("workspace")), decision == "allow")
		if err != nil {
			h.showError(w, r, application.Page{}, err)
			return
		}
		http.Redirect(w, r, redirect, http.StatusFound)
		return
	}
	if form.Has("signon") {
		h.signOn(w, r, form.Get("signon"), token)
		return
	}
	page, err := h.opt.Server.SignIn(r.Context(), token, binding, form.Get("email"), form.Get("password"))
	h.ask(w, r, page, err)
}

// ask shows the question to a person who has signed in.
func (h *Handler) ask(w http.ResponseWriter, r *http.Request, page application.Page, err error) {
	if err != nil {
		h.showError(w, r, page, err)
		return
	}
	message := ""
	if len(page.Workspaces) == 0 {
		message = "You are a member of no workspace."
		page.Token = ""
	}
	h.show(w, http.StatusOK, view{Page: page, Message: message})
}

// showError shows an error, with the sign-in if the page can go on.
func (h *Handler) showError(w http.ResponseWriter, r *http.Request, page application.Page, err error) {
	if known, ok := errors.AsType[*application.Error](err); ok {
		h.show(w, http.StatusBadRequest, view{Page: page, Message: "The program that sent you here made a mistake: " + known.Description + "."})
		return
	}
	e := apierr.From(err)
	message := e.Message
	if e.Code.Status() >= http.StatusInternalServerError {
		h.log(r.Context(), err)
		if e.Code == apierr.Internal {
			message = "Something went wrong on our side. Try again."
		}
	}
	e.SetRetryAfter(w.Header())
	h.show(w, e.Code.Status(), view{Page: page, Message: message})
}

func (h *Handler) show(w http.ResponseWriter, status int, v view) {
	v.Providers = h.opt.Server.Providers()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = pageTemplate.Execute(w, v) // fails only when the client has gone
}
