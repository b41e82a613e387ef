import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
SEQ, DIM, VOCAB, MAXLEN = 16, 64, 40, 4


def make(n):
    tokens = torch.randint(4, VOCAB, (n, SEQ))
    length = torch.randint(8, SEQ + 1, (n,))
    start = (torch.rand(n) * (length - MAXLEN)).long()
    width = torch.randint(2, MAXLEN, (n,))
    end = start + width
    tokens[torch.arange(n), start] = 1
    tokens[torch.arange(n), end] = 2
    mask = torch.arange(SEQ) < length[:, None]
    return tokens.masked_fill(~mask, 0), mask, start, end


class BoundaryModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.rnn = nn.GRU(DIM, DIM, batch_first=True, bidirectional=True)
        self.start = nn.Linear(2 * DIM, 1)
        self.end = nn.Linear(2 * DIM, 1)
        self.left = nn.Linear(2 * DIM, DIM)
        self.right = nn.Linear(2 * DIM, DIM)

    def forward(self, tokens):
        h, _ = self.rnn(self.embed(tokens))
        pair = self.left(h) @ self.right(h).transpose(1, 2) / DIM ** 0.5
        return self.start(h).squeeze(-1), self.end(h).squeeze(-1), pair


def consistency_loss(pair_logits, start_logits, mask):
    probabilities = pair_logits.sigmoid() * (mask[:, :, None] & mask[:, None, :])
    log_survival = torch.log1p(-probabilities.clamp(max=1.0 - 1e-6))
    implied = 1.0 - torch.exp(log_survival.sum(-1))
    gap = (implied - start_logits.sigmoid()).pow(2)
    return (gap * mask).sum() / mask.sum()


tokens, mask, start, end = make(2000)
t_test, m_test, s_test, e_test = make(500)
model = BoundaryModel()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)

for epoch in range(6):
    for idx in torch.randperm(len(tokens)).split(64):
        rows, m = torch.arange(len(idx)), mask[idx]
        s_true, e_true = torch.zeros(len(idx), SEQ), torch.zeros(len(idx), SEQ)
        p_true = torch.zeros(len(idx), SEQ, SEQ)
        s_true[rows, start[idx]] = 1
        e_true[rows, end[idx]] = 1
        p_true[rows, start[idx], end[idx]] = 1
        with torch.autocast("cpu", dtype=torch.bfloat16):
            s, e, pair = model(tokens[idx])
            loss = F.binary_cross_entropy_with_logits(s[m], s_true[m])
            loss = loss + F.binary_cross_entropy_with_logits(e[m], e_true[m])
            both = m[:, :, None] & m[:, None, :]
            loss = loss + F.binary_cross_entropy_with_logits(pair[both], p_true[both])
            loss = loss + 0.1 * consistency_loss(pair, s, m)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch + 1}  loss {loss.item():.4f}")

model.eval()
with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
    _, _, pair = model(t_test)
pair = pair.float().masked_fill(~(m_test[:, :, None] & m_test[:, None, :]), -1e4).flatten(1)
hit = pair.argmax(1) == s_test * SEQ + e_test
print(f"exact span {hit.float().mean().item():.3f}")
