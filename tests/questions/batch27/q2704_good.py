import torch
import torch.nn as nn

torch.manual_seed(2)
torch.set_num_threads(1)

T, DIM, WORDS, LEN = 40, 16, 24, 4
alphas_bar = torch.cumprod(1 - torch.linspace(1e-3, 0.15, T), 0)


def prob_mask_like(shape, prob):
    return torch.rand(shape) < prob


class DiffusionPriorNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, DIM)
        self.time_emb = nn.Embedding(T, DIM)
        self.learned_query = nn.Parameter(torch.randn(DIM) * 0.1)
        self.pos = nn.Parameter(torch.randn(LEN + 3, DIM) * 0.1)
        layer = nn.TransformerEncoderLayer(DIM, 2, 32, dropout=0.0, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.to_out = nn.Linear(DIM, DIM)

    def forward(self, image_embed, t, text, cond_drop_prob=0.0):
        b = len(image_embed)
        keep = prob_mask_like((b, 1), 1 - cond_drop_prob)
        mask = torch.ones(b, LEN, dtype=torch.bool) & keep
        mask = torch.cat([mask, torch.ones(b, 3, dtype=torch.bool)], 1)
        tokens = torch.cat([self.words(text), self.time_emb(t)[:, None], image_embed[:, None],
                            self.learned_query.expand(b, 1, DIM)], 1) + self.pos
        h = self.transformer(tokens, src_key_padding_mask=~mask)
        return self.to_out(h[:, -1])

    def forward_with_cond_scale(self, image_embed, t, text, cond_scale=1.0):
        logits = self.forward(image_embed, t, text)
        null_logits = self.forward(image_embed, t, text, cond_drop_prob=1.0)
        return null_logits + (logits - null_logits) * cond_scale


word_dirs = torch.randn(WORDS, DIM)


def batch(n):
    text = torch.randint(0, WORDS, (n, LEN))
    x0 = word_dirs[text].mean(1) + 0.1 * torch.randn(n, DIM)
    t = torch.randint(0, T, (n,))
    ab = alphas_bar[t][:, None]
    return text, x0, t, ab.sqrt() * x0 + (1 - ab).sqrt() * torch.randn(n, DIM)


net = DiffusionPriorNetwork()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(600):
    text, x0, t, xt = batch(64)
    pred = net(xt, t, text, cond_drop_prob=0.2)
    loss = ((pred - x0) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 150 == 149:
        print(f"step {step + 1} loss {loss.item():.4f}")

with torch.no_grad():
    text, x0, t, xt = batch(256)
    t = torch.full((256,), T - 1)
    xt = torch.randn(256, DIM)
    for scale in (0.0, 1.0, 2.0):
        out = net.forward_with_cond_scale(xt, t, text, scale)
        sim = torch.cosine_similarity(out, x0).mean().item()
        print(f"cond_scale {scale}: norm {out.norm(dim=1).mean():.3f} similarity to the text's embedding {sim:.3f}")
