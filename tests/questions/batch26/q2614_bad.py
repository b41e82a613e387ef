import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)
PAD, VOCAB, MAX_LEN = 0, 40, 24


def make_corpus(n, table):
    rows, masks = [], []
    for _ in range(n):
        length = int(torch.randint(5, MAX_LEN + 1, (1,)))
        seq = [int(torch.randint(1, VOCAB, (1,)))]
        for _ in range(length - 1):
            seq.append(int(table[seq[-1]][torch.randint(0, 3, (1,))]))
        rows.append(seq + [PAD] * (MAX_LEN - length))
        masks.append([1] * length + [0] * (MAX_LEN - length))
    return torch.tensor(rows), torch.tensor(masks)


class CausalLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.position = nn.Embedding(MAX_LEN, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2)
        self.lm_head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        n = ids.shape[1]
        x = self.embed(ids) + self.position(torch.arange(n))
        causal = torch.triu(torch.full((n, n), float("-inf")), diagonal=1)
        return self.lm_head(self.blocks(x, mask=causal))


def train_loss(model, ids, attention_mask):
    labels = ids.masked_fill(attention_mask == 0, -100)
    logits = model(ids)
    return F.cross_entropy(logits[:, :-1].reshape(-1, VOCAB), labels[:, 1:].reshape(-1), ignore_index=-100)


def eval_loss(model, ids, attention_mask, batch_size=64):
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for i in range(0, len(ids), batch_size):
            b, m = ids[i:i + batch_size], attention_mask[i:i + batch_size]
            shift_logits = model(b)[:, :-1]
            shift_labels = b[:, 1:]
            token_loss = F.cross_entropy(shift_logits.transpose(1, 2), shift_labels, reduction="none")
            valid = m[:, :-1].float()
            total += (token_loss * valid).sum().item()
            count += valid.sum().item()
    model.train()
    return total / count


table = torch.randint(1, VOCAB, (VOCAB, 3))
train_ids, train_mask = make_corpus(1500, table)
test_ids, test_mask = make_corpus(400, table)

model = CausalLM()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(6):
    order = torch.randperm(len(train_ids))
    running, batches = 0.0, 0
    for idx in order.split(50):
        opt.zero_grad()
        loss = train_loss(model, train_ids[idx], train_mask[idx])
        loss.backward()
        opt.step()
        running += loss.item()
        batches += 1
    print(f"epoch {epoch} train loss {running / batches:.4f} eval loss {eval_loss(model, test_ids, test_mask):.4f}")

final = eval_loss(model, test_ids, test_mask)
print(f"final eval loss {final:.4f} perplexity {torch.tensor(final).exp().item():.2f}")
