import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)


class ConvCompress(nn.Module):
    def __init__(self, dim, ratio=4):
        super().__init__()
        self.conv = nn.Conv1d(dim, dim, ratio, stride=ratio)

    def forward(self, mem):
        return self.conv(mem.transpose(1, 2)).transpose(1, 2)


def full_attn(q, k, v):
    dots = torch.einsum("bid,bjd->bij", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("bij,bjd->bid", dots.softmax(-1), v)


class SelfAttention(nn.Module):
    def __init__(self, dim, mem_len=8, cmem_len=4, ratio=4):
        super().__init__()
        self.mem_len, self.cmem_len = mem_len, cmem_len
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, dim * 2, bias=False)
        self.to_out = nn.Linear(dim, dim)
        self.compress_mem_fn = ConvCompress(dim, ratio)

    def forward(self, x, mem, cmem):
        q = self.to_q(x)
        k, v = self.to_kv(torch.cat([cmem, mem, x], 1)).chunk(2, -1)
        out = self.to_out(full_attn(q, k, v))

        new_mem = torch.cat([mem, x], 1).detach()
        old_mem, new_mem = new_mem[:, : -self.mem_len], new_mem[:, -self.mem_len :]
        aux_loss = torch.zeros(())
        if old_mem.shape[1] > 0:
            compressed = self.compress_mem_fn(old_mem)
            cmem_k, cmem_v = self.to_kv(compressed).chunk(2, -1)
            old_k, old_v = self.to_kv(old_mem).chunk(2, -1)
            q, old_k, old_v, cmem_k, cmem_v = (t.detach() for t in (q, old_k, old_v, cmem_k, cmem_v))
            aux_loss = F.mse_loss(full_attn(q, old_k, old_v), full_attn(q, cmem_k, cmem_v))
            cmem = torch.cat([cmem, compressed], 1).detach()[:, -self.cmem_len :]
        return out, new_mem, cmem, aux_loss


class CompressiveTransformer(nn.Module):
    def __init__(self, num_tokens=16, dim=32):
        super().__init__()
        self.dim = dim
        self.token_emb = nn.Embedding(num_tokens, dim)
        self.attn = SelfAttention(dim)
        self.ff = nn.Sequential(nn.Linear(dim, dim * 2), nn.GELU(), nn.Linear(dim * 2, dim))
        self.to_logits = nn.Linear(dim, num_tokens)

    def forward(self, tokens, memories):
        mem, cmem = memories
        x = self.token_emb(tokens)
        out, mem, cmem, aux_loss = self.attn(x, mem, cmem)
        x = x + out
        return self.to_logits(x + self.ff(x)), (mem, cmem), aux_loss


def segments(batch=16, count=4, length=8):
    pattern = torch.randint(0, 16, (batch, 8)).repeat(1, count + 1)[:, : count * length + 1]
    return [
        (pattern[:, i : i + length], pattern[:, i + 1 : i + length + 1])
        for i in range(0, count * length, length)
    ]


def main():
    model = CompressiveTransformer()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    start = model.attn.compress_mem_fn.conv.weight.detach().clone()
    for step in range(150):
        memories = (torch.zeros(16, 0, model.dim), torch.zeros(16, 0, model.dim))
        for tokens, labels in segments():
            logits, memories, aux_loss = model(tokens, memories)
            loss = F.cross_entropy(logits.reshape(-1, 16), labels.reshape(-1))
            optimizer.zero_grad()
            (loss + aux_loss).backward()
            optimizer.step()
        if step % 30 == 0:
            print(f"step {step}: loss {loss.item():.3f} aux {aux_loss.item():.5f}")
    moved = (model.attn.compress_mem_fn.conv.weight - start).norm().item()
    print(f"loss {loss.item():.3f} aux {aux_loss.item():.5f} compression moved by {moved:.4f}")


main()
