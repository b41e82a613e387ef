import torch
import torch.nn as nn
import torch.nn.functional as F

ninf = -1e30


def ctc_loss_log(pred, token, pred_len, token_len, blank=0):
    """pred: (T, B, C) log probabilities, token: (B, U); returns the mean negative log likelihood"""
    T, B, _ = pred.shape
    U = token.shape[1]
    token_with_blank = torch.cat((torch.full((B, U, 1), blank), token[:, :, None]), dim=2).view(B, -1)
    token_with_blank = torch.cat((token_with_blank, torch.full((B, 1), blank)), dim=1)
    L = token_with_blank.shape[1]
    sec_diag = torch.cat((torch.zeros(B, 2, dtype=torch.bool),
                          token_with_blank[:, :-2] != token_with_blank[:, 2:]), dim=1)
    sec_diag = sec_diag & (torch.arange(L) % 2 == 1)
    pred_blank = pred.gather(2, token_with_blank[None].expand(T, B, L))
    alpha = torch.full((B, L), ninf)
    alpha = torch.cat((pred_blank[0, :, :2], alpha[:, 2:]), dim=1)
    alphas = [alpha]
    for t in range(1, T):
        shift1 = F.pad(alpha[:, :-1], (1, 0), value=ninf)
        shift2 = F.pad(alpha[:, :-2], (2, 0), value=ninf)
        shift2 = torch.where(sec_diag, shift2, torch.full_like(shift2, ninf))
        alpha = torch.logsumexp(torch.stack((alpha, shift1, shift2)), dim=0) + pred_blank[t]
        alphas.append(alpha)
    last = torch.stack(alphas)[pred_len - 1, torch.arange(B)]
    ends = torch.stack((last.gather(1, 2 * token_len[:, None]), last.gather(1, 2 * token_len[:, None] - 1)))
    return -(torch.logsumexp(ends, dim=0).squeeze(1) / token_len).mean()


def make_batch(n, n_chars, T=20):
    token = torch.randint(n_chars, (n, 4))
    x = torch.randn(n, T, n_chars) * 0.3
    for b in range(n):
        starts = torch.randperm(T // 4)[:4].sort()[0] * 4
        for u in range(4):
            x[b, starts[u]:starts[u] + 3, token[b, u]] += 2
    return x, token


def greedy(log_probs, blank):
    out = []
    for path in log_probs.argmax(2).t().tolist():
        s, prev = [], blank
        for c in path:
            if c != prev and c != blank:
                s.append(c)
            prev = c
        out.append(s)
    return out


class CRNN(nn.Module):
    def __init__(self, n_chars, hidden=48):
        super().__init__()
        self.rnn = nn.GRU(n_chars, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, n_chars + 1)

    def forward(self, x):
        return F.log_softmax(self.fc(self.rnn(x)[0]), dim=2).transpose(0, 1)


torch.manual_seed(0)
n_chars = 6
model = CRNN(n_chars)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for it in range(160):
    x, token = make_batch(32, n_chars)
    lens = torch.full((32,), x.shape[1]), torch.full((32,), 4)
    loss = ctc_loss_log(model(x), token, *lens, blank=n_chars)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 20 == 19:
        with torch.no_grad():
            log_probs = model(x)
        hits = [h == t for h, t in zip(greedy(log_probs, n_chars), token.tolist())]
        reference = F.ctc_loss(log_probs, token, *lens, blank=n_chars)
        print(f"iter {it + 1} loss {loss.item():.4f} F.ctc_loss {reference:.4f} words right {sum(hits) / len(hits):.2f}")
