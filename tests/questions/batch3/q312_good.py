import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(12)
PAD = 0


class LabelAttention(nn.Module):
    def __init__(self, embedding_dim, num_classes):
        super().__init__()
        self.label_embeds = nn.Embedding(num_classes, embedding_dim)
        self.k_proj = nn.Linear(embedding_dim, embedding_dim)
        self.v_proj = nn.Linear(embedding_dim, embedding_dim)

    def forward(self, token_embeddings, attention_mask):
        batch = token_embeddings.size(0)
        q = self.label_embeds.weight.unsqueeze(0).expand(batch, -1, -1)
        k, v = self.k_proj(token_embeddings), self.v_proj(token_embeddings)
        allowed = attention_mask != 0
        return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed.unsqueeze(1))


class TextClassifier(nn.Module):
    def __init__(self, vocab, embedding_dim, num_classes):
        super().__init__()
        self.embedding = nn.Embedding(vocab, embedding_dim, padding_idx=PAD)
        self.position = nn.Parameter(0.02 * torch.randn(14, embedding_dim))
        self.attention = LabelAttention(embedding_dim, num_classes)
        self.head = nn.Linear(embedding_dim, 1)

    def forward(self, tokens, attention_mask):
        x = self.embedding(tokens) + self.position
        x = self.attention(x, attention_mask)
        return self.head(x).squeeze(-1)


def make_texts(size=64, length=14, vocab=60, classes=4):
    lengths = torch.randint(6, length, (size,))
    tokens = torch.randint(classes + 1, vocab, (size, length))
    labels = torch.randint(0, classes, (size,))
    for row, n, label in zip(tokens, lengths, labels):
        row[torch.randint(0, int(n), ())] = label + 1
    attention_mask = (torch.arange(length) < lengths[:, None]).long()
    return tokens * attention_mask, attention_mask, labels


model = TextClassifier(60, 24, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(300):
    tokens, attention_mask, labels = make_texts()
    logits = model(tokens, attention_mask)
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(
            f"step {step}: loss {loss.item():.4f} accuracy {(logits.argmax(1) == labels).float().mean():.3f}"
        )
