import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, dropout):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.resid_dropout = nn.Dropout(dropout)
        self.n_head, self.dropout = n_head, dropout

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (
            part.view(B, T, self.n_head, -1).transpose(1, 2) for part in self.c_attn(x).split(C, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=self.dropout, is_causal=True)
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).reshape(B, T, C)))


class Block(nn.Module):
    def __init__(self, n_embd, n_head, dropout):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head, dropout)
        self.mlp = nn.Sequential(
            nn.Linear(n_embd, 2 * n_embd), nn.GELU(), nn.Linear(2 * n_embd, n_embd), nn.Dropout(dropout)
        )

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd=32, n_head=2, n_layer=2, dropout=0.2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.blocks = nn.Sequential(*[Block(n_embd, n_head, dropout) for _ in range(n_layer)])
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        logits = self.lm_head(self.blocks(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def make_text(n, block_size, vocab_size):
    pattern = torch.randint(vocab_size, (n, 4))
    repeated = pattern.repeat(1, block_size // 4 + 1)[:, : block_size + 1]
    noise = torch.rand(repeated.shape) < 0.03
    return torch.where(noise, torch.randint(vocab_size, repeated.shape), repeated)


def estimate_loss(model, data):
    model.eval()
    with torch.no_grad():
        loss = model(data[:, :-1], data[:, 1:]).item()
    model.train()
    return loss


def main():
    torch.manual_seed(0)
    block_size, vocab_size = 16, 12
    train, val = make_text(700, block_size, vocab_size), make_text(200, block_size, vocab_size)
    model = GPT(vocab_size, block_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3)
    for epoch in range(1, 10):
        for rows in torch.randperm(len(train)).split(64):
            loss = model(train[rows, :-1], train[rows, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 3 == 0:
            print(f"epoch {epoch:2d}: val loss {estimate_loss(model, val):.4f}")
    losses = [estimate_loss(model, val) for _ in range(4)]
    print("val loss of the final model, estimated four times:", " ".join(f"{v:.4f}" for v in losses))


if __name__ == "__main__":
    main()
