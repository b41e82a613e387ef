import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

torch.manual_seed(0)
torch.set_num_threads(1)

PAD, CLS, SEP, MASK = 0, 1, 2, 3
VOCAB, MAX_LEN = 24, 40


def make_sentence():
    n = int(torch.randint(4, 14, ()))
    start = int(torch.randint(4, VOCAB, ()))
    words = [4 + (start - 4 + 3 * i) % (VOCAB - 4) for i in range(n)]
    return [CLS] + words + [SEP]


class DataCollatorForLanguageModeling:
    def __init__(self, mlm_probability=0.15):
        self.mlm_probability = mlm_probability

    def __call__(self, examples):
        input_ids = torch.full((len(examples), MAX_LEN), PAD)
        for i, ids in enumerate(examples):
            input_ids[i, :len(ids)] = torch.tensor(ids)
        attention_mask = (input_ids != PAD).long()
        inputs, labels = self.mask_tokens(input_ids)
        return {"input_ids": inputs, "attention_mask": attention_mask, "labels": labels}

    def mask_tokens(self, inputs):
        inputs, labels = inputs.clone(), inputs.clone()
        probability_matrix = torch.full(labels.shape, self.mlm_probability)
        special_tokens_mask = (labels == CLS) | (labels == SEP)
        probability_matrix.masked_fill_(special_tokens_mask, value=0.0)
        probability_matrix.masked_fill_(labels == PAD, value=0.0)
        masked_indices = torch.bernoulli(probability_matrix).bool()
        labels[~masked_indices] = -100
        replaced = torch.bernoulli(torch.full(labels.shape, 0.8)).bool() & masked_indices
        inputs[replaced] = MASK
        return inputs, labels


class TinyBert(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.pos = nn.Embedding(MAX_LEN, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, input_ids, attention_mask):
        h = self.tok(input_ids) + self.pos(torch.arange(input_ids.size(1)))
        h = self.encoder(h, src_key_padding_mask=attention_mask == 0)
        return self.head(h)


sentences = [make_sentence() for _ in range(640)]
loader = DataLoader(sentences, batch_size=32, shuffle=True, collate_fn=DataCollatorForLanguageModeling())
model = TinyBert()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

for epoch in range(6):
    model.train()
    total = 0.0
    for batch in loader:
        logits = model(batch["input_ids"], batch["attention_mask"])
        loss = F.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1}: mlm loss {total / len(loader):.4f}")

model.eval()
hits = 0
with torch.no_grad():
    for _ in range(200):
        ids = make_sentence()
        where = int(torch.randint(1, len(ids) - 1, ()))
        x = torch.full((1, MAX_LEN), PAD)
        x[0, :len(ids)] = torch.tensor(ids)
        mask = (x != PAD).long()
        x[0, where] = MASK
        hits += int(model(x, mask)[0, where].argmax() == ids[where])
print("masked words found:", hits / 200)
