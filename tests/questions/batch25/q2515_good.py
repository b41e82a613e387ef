import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)

EOS = 1
BOS = 0
VOCAB = 40
MAX_LEN = 32


class Tokenizer:
    def __init__(self, padding_side):
        self.padding_side = padding_side
        self.eos_token_id = EOS
        self.pad_token_id = EOS

    def encode(self, tokens):
        return [BOS] + list(tokens) + [self.eos_token_id]

    def pad(self, ids, max_length):
        fill = [self.pad_token_id] * (max_length - len(ids))
        return fill + ids if self.padding_side == "left" else ids + fill


tokenizer = Tokenizer(padding_side="right")


class Dialogues(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(7)
        self.items = []
        for _ in range(n):
            length = int(torch.randint(6, 25, (1,), generator=g))
            start, step = torch.randint(0, 38, (2,), generator=g).tolist()
            self.items.append([2 + (start + k * (1 + step % 3)) % 38 for k in range(length)])

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        ids = tokenizer.pad(tokenizer.encode(self.items[i]), MAX_LEN)
        input_ids = torch.tensor(ids)
        labels = input_ids.clone()
        end = (input_ids == tokenizer.eos_token_id).nonzero()[0, 0]
        labels[end + 1:] = -100
        return input_ids, labels


class Decoder(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Embedding(MAX_LEN, d)
        layer = nn.TransformerEncoderLayer(d, 4, 128, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, ids):
        n = ids.size(1)
        mask = torch.triu(torch.full((n, n), float("-inf")), diagonal=1)
        h = self.tok(ids) + self.pos(torch.arange(n))
        return self.head(self.blocks(h, mask=mask))


loader = DataLoader(Dialogues(1024), batch_size=32, shuffle=True)
model = Decoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

for epoch in range(5):
    total, right, seen = 0.0, 0, 0
    for input_ids, labels in loader:
        logits = model(input_ids)[:, :-1]
        target = labels[:, 1:]
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), target.reshape(-1), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        keep = target != -100
        right += (logits.argmax(-1) == target)[keep].sum().item()
        seen += keep.sum().item()
    print(f"epoch {epoch} loss {total / len(loader):.4f} next-token accuracy {right / max(seen, 1):.3f}")
