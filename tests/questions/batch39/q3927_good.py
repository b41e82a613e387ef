import torch
import torch.nn as nn
import torch.nn.functional as F


def Embedding(num_embeddings, embedding_dim, padding_idx):
    m = nn.Embedding(num_embeddings, embedding_dim, padding_idx=padding_idx)
    nn.init.normal_(m.weight, mean=0, std=embedding_dim ** -0.5)
    if padding_idx is not None:
        nn.init.constant_(m.weight[padding_idx], 0)
    return m


class SkipGram(nn.Module):
    def __init__(self, vocab_size, dim, padding_idx=None):
        super().__init__()
        self.embed_in = Embedding(vocab_size, dim, padding_idx)
        self.embed_out = Embedding(vocab_size, dim, padding_idx)

    def forward(self, center, context):
        return (self.embed_in(center) * self.embed_out(context)).sum(-1)


def make_corpus(vocab_size, n_topics, length):
    topic_of_word = torch.arange(vocab_size) % n_topics
    words, topic = [], 0
    for _ in range(length):
        if torch.rand(1).item() < 0.1:
            topic = torch.randint(n_topics, (1,)).item()
        candidates = (topic_of_word == topic).nonzero().squeeze(1)
        words.append(candidates[torch.randint(len(candidates), (1,))].item())
    return torch.tensor(words), topic_of_word


torch.manual_seed(0)
vocab_size, n_topics = 60, 6
corpus, topic_of_word = make_corpus(vocab_size, n_topics, 8000)
model = SkipGram(vocab_size, 16)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    perm = torch.randperm(len(corpus) - 1)
    total, steps = 0.0, 0
    for k in range(0, len(perm), 200):
        idx = perm[k:k + 200]
        center, context = corpus[idx], corpus[idx + 1]
        negative = torch.randint(vocab_size, context.shape)
        loss = (F.binary_cross_entropy_with_logits(model(center, context), torch.ones(len(idx)))
                + F.binary_cross_entropy_with_logits(model(center, negative), torch.zeros(len(idx))))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, steps = total + loss.item(), steps + 1
    print(f"epoch {epoch} loss {total / steps:.4f}")

with torch.no_grad():
    vectors = F.normalize(model.embed_in.weight, dim=1)
    sim = vectors @ vectors.t() - 2 * torch.eye(vocab_size)
    same = (topic_of_word[sim.argmax(1)] == topic_of_word).float().mean()
print("sum of |weights|", model.embed_in.weight.abs().sum().item())
print(f"nearest word has the same topic: {same:.3f}")
