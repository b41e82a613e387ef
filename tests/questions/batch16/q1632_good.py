import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantization(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs, codebook):
        distances = torch.cdist(inputs, codebook)
        indices = distances.argmin(dim=1)
        ctx.mark_non_differentiable(indices)
        return indices


class VectorQuantizationStraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs, codebook):
        indices = VectorQuantization.apply(inputs, codebook)
        ctx.save_for_backward(indices, codebook)
        ctx.mark_non_differentiable(indices)
        return codebook.index_select(0, indices), indices

    @staticmethod
    def backward(ctx, grad_output, grad_indices):
        grad_inputs, grad_codebook = None, None
        if ctx.needs_input_grad[0]:
            grad_inputs = grad_output.clone()
        if ctx.needs_input_grad[1]:
            indices, codebook = ctx.saved_tensors
            grad_codebook = torch.zeros_like(codebook).index_add_(0, indices, grad_output)
        return grad_inputs, grad_codebook


class VQEmbedding(nn.Module):
    def __init__(self, k, d):
        super().__init__()
        self.embedding = nn.Embedding(k, d)
        self.embedding.weight.data.uniform_(-1.0, 1.0)

    def straight_through(self, z_e_x):
        z_q_x_st, indices = VectorQuantizationStraightThrough.apply(z_e_x, self.embedding.weight.detach())
        z_q_x = self.embedding.weight.index_select(0, indices)
        return z_q_x_st, z_q_x, indices


class VectorQuantizedVAE(nn.Module):
    def __init__(self, width, dim=6, k=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, dim), nn.LayerNorm(dim, elementwise_affine=False)
        )
        self.codebook = VQEmbedding(k, dim)
        self.decoder = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, width))

    def forward(self, x):
        z_e_x = self.encoder(x)
        z_q_x_st, z_q_x, indices = self.codebook.straight_through(z_e_x)
        return self.decoder(z_q_x_st), z_e_x, z_q_x, indices


def main():
    torch.manual_seed(0)
    shapes = torch.randn(24, 30)
    x = shapes[torch.randint(24, (2400,))] + 0.3 * torch.randn(2400, 30)
    model = VectorQuantizedVAE(30)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 26):
        for rows in torch.randperm(len(x)).split(60):
            x_tilde, z_e_x, z_q_x, _ = model(x[rows])
            loss_recons = F.mse_loss(x_tilde, x[rows])
            loss_vq = F.mse_loss(z_q_x, z_e_x.detach())
            loss_commit = F.mse_loss(z_e_x, z_q_x.detach())
            loss = 10 * loss_recons + loss_vq + 0.25 * loss_commit
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 5 == 0:
            with torch.no_grad():
                x_tilde, z_e_x, z_q_x, indices = model(x)
                used = indices.unique()
                means = torch.stack([z_e_x[indices == k].mean(dim=0) for k in used])
                off = (model.codebook.embedding.weight[used] - means).norm(dim=1).mean()
            print(
                f"epoch {epoch:2d}: recons {F.mse_loss(x_tilde, x):.4f}  vq {F.mse_loss(z_q_x, z_e_x):.4f}  "
                f"codes used {len(used)}  code to mean of its inputs {off:.3f}  (size of z_e {z_e_x.norm(dim=1).mean():.2f})"
            )


if __name__ == "__main__":
    main()
