import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(21)

PAD, SEP, EOS, FIRST = 0, 1, 2, 3
letters = 12
vocab = FIRST + letters
seq_len = 11


class Sft(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(n):
            k = int(torch.randint(3, 5, (1,), generator=g))
            prompt = torch.randint(0, letters, (k,), generator=g)
            answer = (prompt.flip(0) + 5) % letters
            tokens = [*(prompt + FIRST).tolist(), SEP, *(answer + FIRST).tolist(), EOS]
            mask = [0] * (k + 1) + [1] * (k + 1)
            fill = seq_len - len(tokens)
            self.rows.append((torch.tensor(tokens + [PAD] * fill), torch.tensor(mask + [0] * fill)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        tokens, mask = self.rows[i]
        return tokens[:-1], tokens[1:], mask[1:].float()


class Lm(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.token = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(torch.randn(seq_len, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        n = ids.shape[1]
        causal = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
        return self.head(self.blocks(self.token(ids) + self.position[:n], mask=causal))


def exact(model, data):
    model.eval()
    full, first = 0, 0
    with torch.no_grad():
        for tokens, _ in data.rows:
            sep = int((tokens == SEP).nonzero()[0])
            end = int((tokens == EOS).nonzero()[0])
            ids = tokens[:sep + 1]
            while len(ids) <= end:
                ids = torch.cat([ids, model(ids[None])[0, -1].argmax()[None]])
            full += bool((ids == tokens[:end + 1]).all())
            first += bool(ids[sep + 1] == tokens[sep + 1])
    return full / len(data), first / len(data)


train, test = Sft(2000, 1), Sft(60, 2)
loader = DataLoader(train, batch_size=64, shuffle=True)
model = Lm()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

for epoch in range(8):
    model.train()
    total = 0.0
    for inputs, labels, loss_mask in loader:
        losses = F.cross_entropy(model(inputs).transpose(1, 2), labels, reduction="none")
        loss = (losses * loss_mask).sum() / loss_mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1}  loss {total / len(loader):.4f}")
full, first = exact(model, test)
print(f"answers wholly right {full:.3f}   first token right {first:.3f}")
