import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
WORDS = ["[INST]", "[/INST]"] + [f"w{i}" for i in range(12)]


class Tokenizer:
    def __init__(self):
        self.vocab = {"<unk>": 0, "<s>": 1, "</s>": 2}
        for w in WORDS:
            self.vocab[w] = len(self.vocab)
        self.eos_token = "</s>"
        self.pad_token = None

    def add_special_tokens(self, tokens):
        self.pad_token = tokens["pad_token"]
        self.vocab.setdefault(self.pad_token, len(self.vocab))

    @property
    def eos_token_id(self):
        return self.vocab[self.eos_token]

    @property
    def pad_token_id(self):
        return self.vocab[self.pad_token]

    def __len__(self):
        return len(self.vocab)

    def encode(self, text):
        return [self.vocab[w] for w in text.split()]


class CausalLM(nn.Module):
    def __init__(self, vocab, dim=64, heads=4, maxlen=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(maxlen, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 128, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, input_ids, labels=None):
        n = input_ids.size(1)
        h = self.tok(input_ids) + self.pos(torch.arange(n))
        h = self.blocks(h, mask=nn.Transformer.generate_square_subsequent_mask(n))
        logits = self.lm_head(h)
        if labels is None:
            return logits
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100), logits

    @torch.no_grad()
    def generate(self, ids, eos_token_id, max_length=24):
        while len(ids) < max_length:
            ids = ids + [self(torch.tensor([ids]))[0, -1].argmax().item()]
            if ids[-1] == eos_token_id:
                break
        return ids


tokenizer = Tokenizer()
tokenizer.add_special_tokens({"pad_token": "<pad>"})


def example():
    words = [f"w{i}" for i in torch.randint(0, 12, (torch.randint(2, 6, ()).item(),)).tolist()]
    return f"<s> [INST] {' '.join(words)} [/INST] {' '.join(words)} </s>"


def data_collator(texts):
    rows = [tokenizer.encode(t) for t in texts]
    length = max(map(len, rows))
    input_ids = torch.tensor([r + [tokenizer.pad_token_id] * (length - len(r)) for r in rows])
    labels = input_ids.clone()
    labels[labels == tokenizer.pad_token_id] = -100
    return input_ids, labels


model = CausalLM(len(tokenizer))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(240):
    input_ids, labels = data_collator([example() for _ in range(32)])
    loss, _ = model(input_ids, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print(f"step {step} loss {loss.item():.4f}")

stopped = 0
for _ in range(20):
    prompt = example().split("[/INST]")[0] + "[/INST]"
    out = model.generate(tokenizer.encode(prompt), tokenizer.eos_token_id)
    stopped += out[-1] == tokenizer.eos_token_id
print(f"{stopped} of 20 generations ended with </s>; last length {len(out)}")
